"""Browser clients of Python's on a browser of ours: the peer's own CDPClient, and Playwright. One function a scenario."""

import asyncio
import base64
import contextlib

import _scenario
from hud.clients import connect
from hud.eval.runtime import Runtime
from playwright.async_api import async_playwright


async def binding(url):
    async with connect(Runtime(url)) as client:
        capability = client.binding("browser")
        return {"url": capability.url, "protocol": capability.protocol, "params": capability.params}


@contextlib.asynccontextmanager
async def opened(url):
    async with connect(Runtime(url)) as client:
        yield await client.open("cdp")


async def evaluate(cdp, expression):
    reply = await cdp.send("Runtime.evaluate", {"expression": expression, "returnByValue": True})
    return reply["result"].get("value")


async def until(cdp, expression):
    for _ in range(100):
        if value := await evaluate(cdp, expression):
            return value
        await asyncio.sleep(0.05)
    raise TimeoutError(expression)


async def driven(url, site):
    """The peer's client goes to a page, fills in its form, sends it, and takes a picture."""
    async with opened(url) as cdp:
        await cdp.send("Page.navigate", {"url": site})
        await until(cdp, "document.readyState === 'complete' && location.protocol === 'http:'")
        await evaluate(cdp, "document.querySelector('input').focus()")
        await cdp.send("Input.insertText", {"text": "grüße 😀"})
        await evaluate(cdp, "document.forms[0].requestSubmit()")
        title = await until(cdp, "document.title === 'sent' && document.title")
        shot = await cdp.send("Page.captureScreenshot", {"format": "png"})
        query = await evaluate(cdp, "new URLSearchParams(location.search).get('q')")
        return [title, query, base64.b64decode(shot["data"])[:4].hex()]


async def refused(url):
    """An error of the browser's, and the client goes on."""
    async with opened(url) as cdp:
        try:
            await cdp.send("DOM.describeNode", {"nodeId": 123456})
            outcome = "described"
        except RuntimeError as error:
            outcome = error.code
        return [outcome, await evaluate(cdp, "6 * 7")]


async def together(url, count):
    """Many commands at once."""
    async with opened(url) as cdp:
        return await asyncio.gather(*[evaluate(cdp, f"{i} * 2") for i in range(count)])


async def by_playwright(url, site):
    """Playwright through the peer's forwarder: a form, a dialog, a popup, a picture."""
    async with connect(Runtime(url)) as client, async_playwright() as playwright:
        address = client.binding("browser").url.replace("ws://", "http://")
        browser = await playwright.chromium.connect_over_cdp(address)
        page = await browser.contexts[0].new_page()
        await page.goto(site)
        await page.fill("input", "tea")
        await page.click("text=Go")
        await page.wait_for_url("**/sent*")
        title = await page.title()
        page.on("dialog", lambda dialog: dialog.accept())
        said = await page.evaluate("confirm('Sure?')")
        async with page.expect_popup() as popup:
            await page.evaluate("void window.open('about:blank')")
        await (await popup.value).close()
        shot = await page.screenshot(type="jpeg")
        await page.close()
        await browser.close()
        return [title, said, shot[:3].hex()]


_scenario.main(globals())
