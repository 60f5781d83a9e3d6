"""The page on this machine alone: a small server that answers to 127.0.0.1 and to no one else.

    GET  /                    the page
    POST /api/run             a text, the search, what is changed → the document of the run
    POST /api/value           a run's number and a cell → its arithmetic

A page of another site must not reach it through the user's browser: the Host has to be our own, a POST has to say that
it is JSON, which no form can, and come from our own page.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prosector.explain.answers import QUESTIONS, answer
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions
from prosector.explain.page import as_json, bundle, html

HOST = "127.0.0.1"
LARGEST = 1_000_000  # bytes of a request
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
ASSETS = {"/explain.js": "text/javascript", "/explain.css": "text/css"}


class RequestError(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """Serves the runs of one model.

    Args:
        explainer: the model.
        first: what the page begins with.
        port: where; 0 is any that is free.

    Raises:
        OSError: the port is taken.
    """

    daemon_threads = True

    def __init__(self, explainer: Explainer, first: RunOptions, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.explainer = explainer
        try:
            self.first = explainer.page(first) | {"served": True}
        except BaseException:
            self.server_close()
            raise

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{HOST}:{self.port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that left before it had its answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, path: str, given: Any) -> dict[str, Any]:
        """What is posted, answered.

        Raises:
            RequestError: there is nothing at that path.
            ValueError: what is asked for is impossible.
        """
        question = path.removeprefix("/api/")
        if question not in QUESTIONS:
            raise RequestError(404, f"there is no {path}")
        return answer(self.explainer, question, given)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version = "Prosector"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        try:
            self.check_host()
            path = self.path.partition("?")[0]
            if path == "/":
                document = self.server.first
                head = '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="explain.css">'
                data = f'<script type="application/json" id="document">{as_json(document)}</script>'
                body = f'{data}\n<script src="explain.js"></script>'
                self.send(200, "text/html", html(f"{document['text']} · Prosector", head, body))
            elif path in ASSETS:
                self.send(200, ASSETS[path], bundle(path[1:]))
            else:
                raise RequestError(404, f"there is no {path}")
        except RequestError as error:
            self.send_error_line(error.status, str(error))
        except FileNotFoundError as error:
            self.send_error_line(500, str(error))

    def do_POST(self) -> None:
        try:
            self.check_host()
            self.check_sender()
            self.send(200, "application/json", as_json(self.server.answer(self.path, self.posted())))
        except RequestError as error:
            self.send_error_line(error.status, str(error))
        except ConnectionError:  # whoever asked has left
            self.close_connection = True
        except ValueError as error:
            self.send_error_line(400, str(error))
        except Exception as error:
            self.send_error_line(500, f"a fault of Prosector's: {type(error).__name__}: {error}")

    do_HEAD = do_GET  # noqa: N815

    def check_host(self) -> None:
        """Raises RequestError if the request was meant for another name (DNS rebinding)."""
        allowed = {f"{name}:{self.server.port}" for name in (HOST, "localhost")}
        if self.headers.get("Host") not in allowed:
            self.close_connection = True
            raise RequestError(403, f"this page answers to {HOST} only")

    def check_sender(self) -> None:
        """Raises RequestError if the request is not that of our own page."""
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{name}:{self.server.port}" for name in (HOST, "localhost")}:
            self.close_connection = True
            raise RequestError(403, "this page answers to its own requests only")
        if self.headers.get_content_type() != "application/json":
            self.close_connection = True
            raise RequestError(415, "a request is application/json")

    def posted(self) -> Any:
        """The body.

        Raises:
            RequestError: it has no length, or is too long, or is not JSON.
        """
        length = "" if "Transfer-Encoding" in self.headers else self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            self.close_connection = True
            status = 413 if length.isdecimal() else 411
            raise RequestError(status, f"a request has a Content-Length, of {LARGEST:,} bytes at most, and no chunks")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise RequestError(400, f"the request is not JSON: {error}") from error

    def send(self, status: int, kind: str, text: str) -> None:
        """Answer."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error_line(self, status: int, message: str) -> None:
        """Answer with one line of JSON."""
        self.send(status, "application/json", as_json({"error": " ".join(message.split())}))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses (a method, a line that is no request) in our form, not as its HTML."""
        self.close_connection = True
        self.send_error_line(code, message or self.responses[code][0])

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing of each request."""
