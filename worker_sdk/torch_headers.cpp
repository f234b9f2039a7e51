// Empty: the target that precompiles the headers of LibTorch must have a source.
