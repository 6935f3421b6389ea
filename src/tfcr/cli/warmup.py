"""``tfcr warmup``."""

import time


def warmup() -> None:
    """Compile the fast code now rather than in the first long run; for container images.

    \b
    RUN tfcr warmup
    """
    from tfcr.system.files import kernel_cache
    from tfcr.warmup import warm_up

    began = time.perf_counter()
    warm_up()
    folder = kernel_cache()
    if folder is None:
        print("Compiled, but not kept: the cache folder cannot be written. Set TFCR_CACHE to one that can.")
    else:
        print(f"Compiled in {time.perf_counter() - began:.0f} s, and kept in {folder}.")
