"""A bucket on an S3 server of the tests."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.cli.demo.server import find_free_port
from tests.setups.needs import needs

_numbers = itertools.count()
_lock = threading.Lock()
_servers: list[Any] = []


@dataclass(frozen=True)
class Bucket:
    """A bucket: a client of boto3 for other writers, and the traits of the contents manager."""

    client: Any
    options: dict[str, str]

    def put(self, key: str, text: bytes) -> None:
        self.client.put_object(Bucket=self.options["bucket"], Key=key, Body=text)

    def get(self, key: str) -> bytes:
        found: bytes = self.client.get_object(Bucket=self.options["bucket"], Key=key)["Body"].read()
        return found

    def remove(self, key: str) -> None:
        self.client.delete_object(Bucket=self.options["bucket"], Key=key)


@contextmanager
def make_bucket() -> Iterator[Bucket]:
    """Make a new bucket; the server runs as long as the process."""
    for module in ("s3contents", "moto"):
        needs(module)
    import boto3  # noqa: PLC0415 -- is not always there

    options = {
        "endpoint_url": _start_server(),
        "bucket": f"bucket-{next(_numbers)}",
        "access_key_id": "nobody",
        "secret_access_key": "nothing",
    }
    client = boto3.client(
        "s3",
        endpoint_url=options["endpoint_url"],
        aws_access_key_id=options["access_key_id"],
        aws_secret_access_key=options["secret_access_key"],
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=options["bucket"])
    try:
        yield Bucket(client, options)
    finally:
        client.close()


def _start_server() -> str:
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    with _lock:
        if not _servers:
            port = find_free_port()
            server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
            server.start()
            _servers.append(f"http://127.0.0.1:{port}")
        found: str = _servers[0]
        return found
