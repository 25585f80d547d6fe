"""asyncvnc on a screen's own socket, or the peer's RFBClient, which is asyncvnc, on a served one: commands in, milliseconds out."""

import asyncio
import io
import sys
import time

import asyncvnc
from PIL import Image


async def click(client, x, y, look_x, look_y):
    """From a click to its pixels, by whole pictures as the peer's client takes them."""
    before = (await client.screenshot())[look_y, look_x].tolist()
    started = time.perf_counter()
    client.mouse.move(x, y)
    client.mouse.click()
    await client.drain()
    while (await client.screenshot())[look_y, look_x].tolist() == before:
        pass
    return (time.perf_counter() - started) * 1000


async def screenshot(client):
    started = time.perf_counter()
    buffer = io.BytesIO()
    Image.fromarray(await client.screenshot()).save(buffer, format="PNG")
    return (time.perf_counter() - started) * 1000


async def answer(client):
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, *args = line.split()
        took = await (click(client, *map(int, args)) if name == "click" else screenshot(client))
        print(took, flush=True)


async def main(place):
    if place.startswith("tcp://"):
        from hud.clients import connect
        from hud.eval.runtime import Runtime

        async with connect(Runtime(place)) as client:
            await answer((await client.open("rfb")).conn)
    else:
        await answer(await asyncvnc.Client.create(*await asyncio.open_unix_connection(place)))


asyncio.run(main(sys.argv[1]))
