"""openpi's codec against ours: frames with their length in front (4 bytes, big-endian), one for one.

First it sends random trees, and takes each back byte for byte. Then it takes frames, and sends back what its own codec
makes of what its own codec reads. It ends with the number of trees that came back wrong.
"""

import random
import struct
import sys

import numpy as np
from openpi_client import msgpack_numpy

COUNT = int(sys.argv[1])
rng = random.Random(int(sys.argv[2]))
DTYPES = "?bBhHiIqQefd"


def read():
    head = sys.stdin.buffer.read(4)
    if len(head) < 4:
        return None
    return sys.stdin.buffer.read(struct.unpack(">I", head)[0])


def write(data):
    sys.stdout.buffer.write(struct.pack(">I", len(data)) + data)
    sys.stdout.buffer.flush()


def array():
    shape = [rng.randrange(5) for _ in range(rng.randrange(4))]
    kind = rng.choice(DTYPES)
    if kind == "?":
        return np.array(rng.choices([True, False], k=int(np.prod(shape)))).reshape(shape).astype(bool)
    dtype = np.dtype(kind)
    data = np.frombuffer(rng.randbytes(int(np.prod(shape)) * dtype.itemsize), dtype=dtype).reshape(shape)
    if rng.random() < 0.2 and dtype.itemsize > 1:
        data = data.astype(dtype.newbyteorder(">"))
    if rng.random() < 0.3 and data.ndim > 1:
        data = data.T
    if rng.random() < 0.2 and data.ndim:
        data = data[::-1]
    return data


def text():
    return "".join(rng.choice("abc/é日🤖 \x00") for _ in range(rng.randrange(40)))


def leaf():
    return rng.choice(
        [
            lambda: None,
            lambda: rng.random() < 0.5,
            lambda: rng.randrange(-(2**63), 2**64),
            lambda: rng.randrange(-70000, 70000),
            lambda: rng.uniform(-1e9, 1e9),
            lambda: float(rng.randrange(10)),
            text,
            lambda: rng.randbytes(rng.randrange(300)),
            lambda: np.float32(rng.uniform(-9, 9)),
            lambda: np.float16(rng.uniform(-9, 9)),
            lambda: np.int64(rng.randrange(-(2**63), 2**63)),
            lambda: np.uint8(rng.randrange(256)),
            lambda: np.bool_(rng.random() < 0.5),
            array,
            array,
            array,
        ]
    )()


def tree(depth=0):
    kind = rng.random()
    if depth > 4 or kind < 0.5:
        return leaf()
    if kind < 0.75:
        return [tree(depth + 1) for _ in range(rng.randrange(20 if depth == 0 else 6))]
    return {text(): tree(depth + 1) for _ in range(rng.randrange(20 if depth == 0 else 6))}


wrong = 0
for _ in range(COUNT):
    sent = msgpack_numpy.packb({"tree": tree()})
    write(sent)
    wrong += read() != sent
for _ in range(COUNT):
    write(msgpack_numpy.packb(msgpack_numpy.unpackb(read())))
write(str(wrong).encode())
