"""The header ``Accept``: whether a client prefers a text to JSON."""

import re

TEXT_TYPE = "text/plain"
_JSON_TYPE = "application/json"
# RFC 9110, 12.4.2.
_QUALITY = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def prefers_text(header: str) -> bool:
    """Return whether the header accepts ``text/plain`` more than ``application/json``."""
    if "text/" not in header.lower():
        return False
    qualities = _parse(header)
    return _find_quality(qualities, TEXT_TYPE) > _find_quality(qualities, _JSON_TYPE)


def _find_quality(qualities: dict[str, float], media_type: str) -> float:
    """Return the quality of a type: the value of its most specific range (RFC 9110, 12.5.1)."""
    ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
    return next((qualities[name] for name in ranges if name in qualities), 0.0)


def _parse(header: str) -> dict[str, float]:
    """Return the quality of each range of types; a range with an invalid quality is ignored."""
    qualities: dict[str, float] = {}
    for item in header.split(","):
        media_range, *parameters = (part.strip().lower() for part in item.split(";"))
        values = [
            value.strip()
            for name, _, value in (parameter.partition("=") for parameter in parameters)
            if name.strip() == "q"
        ]
        quality = values[0] if values else "1"
        if _QUALITY.fullmatch(quality):
            qualities[media_range] = max(float(quality), qualities.get(media_range, 0.0))
    return qualities
