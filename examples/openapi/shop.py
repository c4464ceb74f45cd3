"""A small HTTP API on this machine, for the example: orders of a shop, in memory. `python3 shop.py [PORT]`

It takes the token of the variable SHOP_TOKEN, and describes itself in shop.json.
"""

import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 2
orders: dict[str, dict[str, Any]] = {
    "a/1": {"id": "a/1", "item": "tea", "amount": 2, "status": "open"},
    "a/2": {"id": "a/2", "item": "cups", "amount": 6, "status": "sent"},
    "b/1": {"id": "b/1", "item": "coffee", "amount": 1, "status": "open"},
}


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if not self._is_known():
            return
        address = urlsplit(self.path)
        if order := self._order(address.path):
            self._answer(200, order)
        elif address.path == "/v1/orders":
            self._list(parse_qs(address.query))
        else:
            self._answer(404, {"message": "there is no such order"})

    def do_POST(self) -> None:
        order = json.loads(self._body() or b"{}")
        if not self._is_known():
            return
        if not isinstance(order, dict) or not isinstance(order.get("item"), str):
            self._answer(422, {"message": "item is missing"})
            return
        made = {"id": f"c/{len(orders)}", "item": order["item"], "amount": order.get("amount", 1), "status": "open"}
        orders[made["id"]] = made
        self._answer(201, made)

    def do_DELETE(self) -> None:
        if self._is_known() and (order := self._order(self.path)):
            del orders[order["id"]]
            self._answer(204)
        else:
            self._answer(404, {"message": "there is no such order"})

    def _is_known(self) -> bool:
        if self.headers["Authorization"] == f"Bearer {os.environ.get('SHOP_TOKEN', 'example')}":
            return True
        self._answer(401, {"message": "who are you?"})
        return False

    def _list(self, query: dict[str, list[str]]) -> None:
        statuses = query.get("status")
        chosen = [order for order in orders.values() if not statuses or order["status"] in statuses]
        page = int(query.get("page", ["1"])[0])
        more = {"Link": f'</v1/orders?page={page + 1}>; rel="next"'} if len(chosen) > page * PAGE else {}
        self._answer(200, chosen[(page - 1) * PAGE : page * PAGE], more)

    def _order(self, path: str) -> dict[str, Any] | None:
        match = re.fullmatch(r"/v1/orders/([^/]+)", path)
        return orders.get(unquote(match[1])) if match else None

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def _answer(self, status: int, body: Any = None, headers: dict[str, str] | None = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the script prints what matters."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8765), Shop)
    print(server.server_port, flush=True)
    server.serve_forever()
