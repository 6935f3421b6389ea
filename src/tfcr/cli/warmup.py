"""``tfcr warmup``."""

import time


def warmup() -> None:
    """Compile the native code now, not in the first long run. Useful in a container image.

    \b
    RUN tfcr warmup
    """
    from tfcr.system.files import kernel_cache
    from tfcr.warmup import warm_up

    began = time.perf_counter()
    warm_up()
    folder = kernel_cache()
    if folder is None:
        print("Compiled, but not kept: the cache folder is not writable. Set TFCR_CACHE to a writable folder.")
    else:
        print(f"Compiled in {time.perf_counter() - began:.0f} s and stored in {folder}.")
