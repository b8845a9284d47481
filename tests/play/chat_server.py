"""Servers of Chat Completions in this process, for tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from afk.play.serving import Reply, make_server


@contextmanager
def served(reply: Reply) -> Iterator[str]:
    """A server on this machine while the block runs; its address."""
    with make_server(reply) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()
