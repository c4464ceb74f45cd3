"""Invented but steady weather, as an MCP server: `python -m mcpctl.demo.weather`

Its tools declare all, some and none of the behaviour hints, as real servers do."""

from zlib import crc32

from mcpctl.demo.stdio_server import Json, ToolFailed, ToolServer, rule, schema

server = ToolServer("weather", "Forecasts for a few cities, temperature conversion, and weather alerts.")

_MEANS = {  # mean temperatures in degrees Celsius; around them the weather of a day follows from the city and the day
    "Amsterdam": 11, "Cairo": 23, "Lima": 19, "Mumbai": 28, "Nairobi": 18, "Oslo": 6, "Sydney": 18, "Tokyo": 16,
    "Toronto": 9,
}  # fmt: skip
_SKIES = ("sunny", "partly cloudy", "cloudy", "light rain", "rain", "thunderstorms")
_ABSOLUTE_ZERO = -273.15
_alerts: dict[tuple[str, str], Json] = {}

_CITY = rule("string", "A city by its English name, such as Oslo", minLength=1)
_UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"]}
_SCALE = {"type": "string", "enum": ["celsius", "fahrenheit", "kelvin"]}


@server.tool({
    "name": "get_forecast",
    "title": "Get the forecast",
    "description": "Forecast the weather of a city for the coming days: sky, high and low temperature, chance of rain.",
    "inputSchema": schema(
        {
            "city": _CITY,
            "days": rule("integer", "How many days, today included", minimum=1, maximum=7, default=3),
            "unit": {**_UNIT, "description": "The unit of the temperatures", "default": "celsius"},
        },
        "city",
    ),
    "annotations": {"readOnlyHint": True, "openWorldHint": True},
})  # fmt: skip
def get_forecast(given: Json) -> Json:
    city = _known(given["city"])
    days = [_day(city, day, given["unit"]) for day in range(given["days"])]
    return {"city": city, "unit": given["unit"], "days": days}


@server.tool({
    "name": "convert_temperature",
    "description": "Convert a temperature between Celsius, Fahrenheit and Kelvin.",
    "inputSchema": schema(
        {
            "value": rule("number", "The temperature to convert", maximum=1_000_000_000),
            "from": {**_SCALE, "description": "The unit of value"},
            "to": {**_SCALE, "description": "The unit wanted"},
        },
        "value", "from", "to",
    ),
})  # fmt: skip
def convert_temperature(given: Json) -> Json:
    value = float(given["value"])
    celsius = {"celsius": value, "fahrenheit": (value - 32) * 5 / 9, "kelvin": value + _ABSOLUTE_ZERO}[given["from"]]
    if not celsius >= _ABSOLUTE_ZERO - 1e-9:
        raise ToolFailed(f"{given['value']} {given['from']} is below absolute zero, {_ABSOLUTE_ZERO} celsius")
    return {"value": round(_from_celsius(celsius, given["to"]), 2), "unit": given["to"]}


@server.tool({
    "name": "set_alert",
    "title": "Set a weather alert",
    "description": "Ask to be told when a condition is forecast for a city. "
    "A second alert for the same city and condition replaces the first.",
    "inputSchema": schema(
        {
            "city": _CITY,
            "condition": rule("string", "What to watch for", enum=["frost", "heat", "rain", "storm"]),
            "days_ahead": rule("integer", "How early to be told", minimum=1, maximum=7, default=1),
        },
        "city", "condition",
    ),
    "annotations": {"readOnlyHint": False, "idempotentHint": True},
})  # fmt: skip
def set_alert(given: Json) -> Json:
    alert = {**given, "city": _known(given["city"])}
    place = (alert["city"], alert["condition"])
    replaced = place in _alerts
    _alerts[place] = alert
    return {"alert": alert, "replaced": replaced, "alerts": len(_alerts)}


def _known(name: str) -> str:
    for city in _MEANS:
        if city.lower() == name.strip().lower():
            return city
    raise ToolFailed(f"there is no forecast for {name!r}; the cities are: {', '.join(_MEANS)}")


def _day(city: str, day: int, unit: str) -> Json:
    chance = crc32(f"{city} {day}".encode())  # crc32 rather than hash(): the same in every process
    high = _MEANS[city] + chance % 9 - 2
    low = high - 4 - chance // 9 % 5
    rain = chance // 45 % 101
    return {
        "day": day,
        "sky": _SKIES[rain * len(_SKIES) // 101],
        "high": round(_from_celsius(high, unit), 1),
        "low": round(_from_celsius(low, unit), 1),
        "chance_of_rain": rain,
    }


def _from_celsius(value: float, unit: str) -> float:
    return {"celsius": value, "fahrenheit": value * 9 / 5 + 32, "kelvin": value - _ABSOLUTE_ZERO}[unit]


if __name__ == "__main__":
    server.run()
