"""What stands between the server and whoever sends it something: sizes, names, headers, errors."""

import json
import re
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from afk.view.page import policy

LARGEST_BODY = 64 * 1024  # bytes of a request
LONGEST_ADDRESS = 4 * 1024  # bytes of what is asked for
_SENTENCES = {
    404: "there is no such page here",
    405: "this address is not for that kind of request",
}


class Guard:
    """Refuses requests that are too large or come from another site's page, and adds headers to answers."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None) -> None:
        """Guard an application.

        Args:
            app: the application.
            hosts: the names that this server may be called by, so that no other site's name can be made to
                lead here; any if nothing.
        """
        self._app, self._hosts = app, hosts
        self._headers = [
            (b"content-security-policy", policy().encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        body = b""
        refusal = self._refuse(scope)
        if refusal is None and scope["method"] == "POST":
            more = True
            while more and len(body) <= LARGEST_BODY:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                body, more = body + message.get("body", b""), message.get("more_body", False)
            if len(body) > LARGEST_BODY:
                refusal = as_error(413, f"a message has at most {LARGEST_BODY} bytes")
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        given = False

        async def receive_body() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, receive_body, send_guarded)

    def _refuse(self, scope: Scope) -> Response | None:
        """The answer to a request that is not to be handled."""
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        host = re.sub(r":[0-9]*$", "", headers.get("host", ""))
        if self._hosts is not None and host not in self._hosts:
            return as_error(400, f"this viewer is called {' or '.join(sorted(self._hosts))}")
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return as_error(414, f"an address has at most {LONGEST_ADDRESS} bytes")
        # Pages of other sites may lead here, but not have episodes played by what they embed.
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"] != "/":
            return as_error(403, "pages of other sites can only lead to this one")
        kind = headers.get("content-type", "").partition(";")[0].strip()
        # Browsers let pages of other sites send forms and plain text here, but no JSON.
        if scope["method"] == "POST" and kind != "application/json":
            return as_error(415, "a message is JSON, of type application/json")
        return None


def as_error(status: int, sentence: str) -> Response:
    """An error as the page shows it."""
    return JSONResponse({"error": sentence}, status)


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON object that was sent; a ValueError if it is none."""
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise ValueError("the message cannot be read: it is not JSON") from error
    if not isinstance(content, dict):
        raise ValueError("the message cannot be read: it is not a JSON object")
    return content


def say_refusal(request: Request, error: Exception) -> Response:
    """What somebody got wrong, in a sentence."""
    del request
    return as_error(400, " ".join(str(error).split()))


def say_status(request: Request, error: Exception) -> Response:
    """What the framework refuses, in a sentence."""
    del request
    assert isinstance(error, HTTPException)
    return as_error(error.status_code, _SENTENCES.get(error.status_code, error.detail))


def say_mistake(request: Request, error: Exception) -> Response:
    """Our own mistake; its trace is for the terminal only."""
    del request, error
    return as_error(500, "something went wrong in the viewer; the terminal it was started in says more")
