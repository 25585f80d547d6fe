"""A Python environment with a vectorized simulator; it says where it is served as `hud serve` does."""

import asyncio

from hud.environment import Environment
from hud.environment.server import serve

env = Environment(name="poles")
sim = env.gym("CartPole-v1", contract=None, num_envs=2)


@env.template(id="balance")
async def balance(seed: int = 0):
    episode = await sim.reset(seed=seed)
    yield {"prompt": episode["prompt"], "bindings": {"robot": {"token": episode["token"]}}}
    yield await sim.result(token=episode["token"])


asyncio.run(serve(env))
