// The one unit that the precompiled header of LibTorch comes from; it has nothing of its own.
