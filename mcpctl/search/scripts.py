"""The scripts that a text may be written in, with sentences by which it shows whether an embedding model reads them."""

import unicodedata
from collections import Counter

_READ = 500  # the characters that tell the script of a text
_LEAST = 1 / 3  # the share of letters of a script that makes a text one of it: many have English names in them

SENTENCES = {
    "CJK": ("给一个人发送电子邮件", "某个城市未来几天的天气", "在货币之间换算金额", "读取文件的内容"),
    "KANA": ("人にメールを送る", "都市の今後数日間の天気", "金額を別の通貨に換算する", "ファイルの内容を読む"),
    "HANGUL": ("사람에게 이메일 보내기", "도시의 앞으로 며칠 날씨", "금액을 다른 통화로 환전하기", "파일 내용 읽기"),
    "CYRILLIC": (
        "Отправить человеку электронное письмо", "Погода в городе на ближайшие дни",
        "Перевести сумму денег в другую валюту", "Прочитать содержимое файла",
    ),
    "GREEK": (
        "Αποστολή μηνύματος σε ένα άτομο", "Πρόγνωση καιρού στην πόλη αύριο",
        "Μετατροπή χρημάτων σε άλλο νόμισμα", "Ανάγνωση των περιεχομένων ενός αρχείου",
    ),
    "ARABIC": (
        "إرسال بريد إلكتروني إلى شخص", "الطقس في الأيام القادمة في مدينة",
        "تحويل مبلغ من المال بين العملات", "قراءة محتويات ملف",
    ),
    "HEBREW": (
        "שליחת דואר אלקטרוני לאדם", "מזג האוויר בימים הקרובים בעיר",
        "המרת סכום כסף בין מטבעות", "קריאת תוכן של קובץ",
    ),
    "DEVANAGARI": (
        "किसी व्यक्ति को ईमेल भेजना", "शहर में अगले दिनों का मौसम", "मुद्राओं के बीच राशि बदलना", "फ़ाइल की सामग्री पढ़ना",
    ),
    "THAI": ("ส่งอีเมลถึงบุคคล", "สภาพอากาศในเมืองในวันถัดไป", "แปลงจำนวนเงินระหว่างสกุลเงิน", "อ่านเนื้อหาของไฟล์"),
}  # fmt: skip
"""Unrelated sentences in each script but Latin, the same in all."""


def script(text: str) -> str:
    """The script of a text as `SENTENCES` names it; empty if it is Latin or another."""
    if text.isascii():
        return ""
    letters = [char for char in text[:_READ] if char.isalpha()]
    counts = Counter(_script(char) for char in letters)
    if counts["KANA"]:
        counts["KANA"] += counts.pop("CJK", 0)
    name, count = max(((name, counts[name]) for name in SENTENCES), key=lambda pair: pair[1])
    return name if count and count >= _LEAST * len(letters) else ""


def _script(char: str) -> str:
    name = unicodedata.name(char, "").partition(" ")[0]
    return "KANA" if name in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else name
