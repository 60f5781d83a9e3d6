"""A real translator that explains itself, a server of its page, and a real browser that reaches this machine alone."""

import os
import shutil
from threading import Thread

import pytest

TEXT = "我喜欢深度学习。"


@pytest.fixture(scope="session")
def translator():
    from prosector.decoding import load

    return load("zh-en")


@pytest.fixture(scope="session")
def explainer(translator):
    from prosector.explain.explainer import Explainer

    return Explainer("zh-en", translator)


@pytest.fixture(scope="session")
def server(explainer):
    """A server of the page, at a port that was free."""
    from prosector.explain.options import RunOptions
    from prosector.explain.server import PageServer

    with PageServer(explainer, RunOptions(text=TEXT)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="session")
def chromium():
    """Debian's Chromium; where there is none, tests in a browser are left out, unless it is said that they must run."""
    must = bool(os.environ.get("PROSECTOR_BROWSER"))
    path = os.environ.get("PROSECTOR_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if path in ("1", "yes"):
        path = shutil.which("chromium")
    if path is None and not must:
        pytest.skip("no Chromium here; PROSECTOR_BROWSER=/path/to/chromium names one")
    sync_api = pytest.importorskip("playwright.sync_api") if not must else __import__("playwright.sync_api").sync_api
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Open an address in a window of its own; every request to anywhere but this machine fails the test."""
    contexts, elsewhere, faults = [], [], []

    def guard(route):
        address = route.request.url
        if address.startswith(("http://127.0.0.1:", "file://", "data:", "blob:")):
            route.continue_()
        else:
            elsewhere.append(address)
            route.abort()

    def open_(address, width=1440, prepare=lambda page: None, **options):
        context = chromium.new_context(viewport={"width": width, "height": 900}, **({"locale": "en-US"} | options))
        contexts.append(context)
        context.route("**/*", guard)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        prepare(page)
        page.goto(address)
        page.wait_for_selector("nav a")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert elsewhere == []
    assert faults == []
