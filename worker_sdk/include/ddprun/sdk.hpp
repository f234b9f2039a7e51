// All of the worker SDK. Programs that are built often include what they use instead: each header
// here says at its beginning what it is for.
#pragma once

#include <ddprun/checkpoint_request.hpp>
#include <ddprun/checkpoint_writing.hpp>
#include <ddprun/checkpointer.hpp>
#include <ddprun/data_loader.hpp>
#include <ddprun/data_parallel.hpp>
#include <ddprun/data_partitioner.hpp>
#include <ddprun/digits.hpp>
#include <ddprun/distributed_data_parallel.hpp>
#include <ddprun/distributed_sampler.hpp>
#include <ddprun/fused_optimizers.hpp>
#include <ddprun/fused_step.hpp>
#include <ddprun/gradient_clipping.hpp>
#include <ddprun/heartbeat.hpp>
#include <ddprun/labelled_images.hpp>
#include <ddprun/lr_schedule.hpp>
#include <ddprun/lr_scheduler.hpp>
#include <ddprun/mixed_precision.hpp>
#include <ddprun/mnist.hpp>
#include <ddprun/module_state.hpp>
#include <ddprun/objects.hpp>
#include <ddprun/optimizer_state.hpp>
#include <ddprun/output_tensors.hpp>
#include <ddprun/pipeline.hpp>
#include <ddprun/process_group.hpp>
#include <ddprun/progress_bar.hpp>
#include <ddprun/run_worker.hpp>
#include <ddprun/safetensors.hpp>
#include <ddprun/sampler_state.hpp>
#include <ddprun/spawn.hpp>
#include <ddprun/stateful.hpp>
#include <ddprun/token_files.hpp>
#include <ddprun/work.hpp>
#include <ddprun/worker_env.hpp>
#include <ddprun/zero_redundancy_optimizer.hpp>
