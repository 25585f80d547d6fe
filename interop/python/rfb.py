"""The peer's RFBClient, which is asyncvnc, on a screen of ours. One function a scenario."""

import asyncio
import hashlib
import io
import time

import _scenario
from hud.clients import connect
from hud.eval.runtime import Runtime
from PIL import Image


async def binding(url):
    async with connect(Runtime(url)) as client:
        capability = client.binding("screen")
        return {"url": capability.url, "protocol": capability.protocol, "params": sorted(capability.params)}


async def screenshot(url, width, height):
    """The size, and the digest of the pixels of a part from the upper left, as RGB."""
    async with connect(Runtime(url)) as client:
        screen = await client.open("rfb")
        data, mime = await screen.screenshot_png()
        image = Image.open(io.BytesIO(data)).convert("RGB")
        part = image.crop((0, 0, width, height))
        return [mime, screen.width, screen.height, image.size, hashlib.sha256(part.tobytes()).hexdigest()]


async def typed(url, x, y, text):
    """A click, then text and Return by the peer's own keyboard."""
    async with connect(Runtime(url)) as client:
        screen = await client.open("rfb")
        screen.conn.mouse.move(x, y)
        screen.conn.mouse.click()
        await screen.drain()
        await asyncio.sleep(0.3)
        screen.conn.keyboard.write(text)
        screen.conn.keyboard.press("Return")
        await screen.drain()
        await asyncio.sleep(0.3)


async def rate(url, count):
    """Screenshots as PNG a second, one after the other."""
    async with connect(Runtime(url)) as client:
        screen = await client.open("rfb")
        started = time.perf_counter()
        for _ in range(count):
            await screen.screenshot_png()
        return count / (time.perf_counter() - started)


if __name__ == "__main__":
    _scenario.main(globals())
