"""Each value of a large array once."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.number)


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Return the values sorted, each once.

    From numpy 2.3 on, np.unique hashes them instead, which takes ten times as long if most differ.

    >>> distinct(np.array([3, 1, 3, 2])).tolist()
    [1, 2, 3]
    """
    values = np.sort(values)
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values
