"""An environment of the peer's whose tasks need nothing but the control channel, for our client."""

import asyncio

from hud.environment import Answer, Environment
from hud.graders.results import EvaluationResult, SubScore
from pydantic import BaseModel

env = Environment(name="peer-exam", version="0.6.21")


class Sum(BaseModel):
    total: int


@env.template(id="add", description="Add two numbers", returns=Sum)
async def add(a: int, b: int = 1):
    answer: Answer[Sum] = yield f"What is {a} {b}?"
    yield 1.0 if isinstance(answer.content, Sum) and answer.content.total == a + b else 0.0


@env.template(id="essay")
async def essay():
    answer = yield {"prompt": "Write three words.", "hint": "short ones"}
    yield EvaluationResult(
        reward=0.75,
        content=answer,
        info={"words": len(answer.split())},
        subscores=[SubScore(name="length", value=1.0, weight=0.75), SubScore(name="style", value=0.0, weight=0.25)],
    )


@env.template(id="fails")
async def fails():
    raise ValueError("the dog ate it")
    yield


@env.template(id="endless")
async def endless():
    await asyncio.sleep(3600)
    yield "too late"


@env.template(id="mirror")
async def mirror(size: int):
    answer = yield "x" * size
    yield float(len(answer))
