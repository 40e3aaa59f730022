"""Sample files that are no notebooks."""

import base64

#: One transparent pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    b"\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00"
    b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\xd2\xff\xd9"
)
WEBP = base64.b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")


def pdf(*pages: str) -> bytes:
    """Write a PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        page = "/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792]"
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        shown = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects += [
            f"<< {page} /Contents {5 + 2 * number} 0 R {fonts} >>",
            f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        ]
    written = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    return (
        written
        + f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} "
        f"/Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n".encode()
    )
