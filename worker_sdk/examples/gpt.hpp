// The GPT of gpt.cpp: nanoGPT's shape (https://github.com/karpathy/nanoGPT/blob/master/model.py).
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <ddprun/activation_checkpoint.hpp>
#include <string>

namespace gpt {

using torch::Tensor;

struct ModelOptions {
  std::int64_t vocab_size = 256, layers = 4, heads = 4, width = 128, context = 64;
  double dropout = 0;
  std::uint64_t seed = 1337;
  bool checkpoint = false;  // blocks keep their inputs alone, and run again in the backward pass
};

/// One kernel, where nn::Linear's forward takes two.
inline Tensor linear(const torch::nn::Linear& layer, const Tensor& x) {
  return torch::linear(x, layer->weight, layer->bias);
}

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(const ModelOptions& a) : heads{a.heads}, dropout{a.dropout} {
    using namespace torch::nn;
    ln_1 = register_module("ln_1", LayerNorm(LayerNormOptions({a.width})));
    c_attn = register_module("c_attn", Linear(a.width, 3 * a.width));
    c_proj = register_module("c_proj", Linear(a.width, a.width));
    ln_2 = register_module("ln_2", LayerNorm(LayerNormOptions({a.width})));
    c_fc = register_module("c_fc", Linear(a.width, 4 * a.width));
    c_out = register_module("c_out", Linear(4 * a.width, a.width));
  }

  Tensor attention(const Tensor& x) {
    const std::int64_t rows = x.size(0), tokens = x.size(1), width = x.size(2);
    auto parts = linear(c_attn, x).split(width, 2);
    for (Tensor& part : parts)
      part = part.view({rows, tokens, heads, width / heads}).transpose(1, 2);
    const Tensor mixed = at::scaled_dot_product_attention(
        parts[0], parts[1], parts[2], {}, is_training() ? dropout : 0, /*is_causal=*/true);
    return linear(c_proj, mixed.transpose(1, 2).contiguous().view({rows, tokens, width}));
  }

  Tensor drop(const Tensor& x) { return torch::dropout(x, dropout, is_training()); }

  Tensor forward(Tensor x) {
    x = x + drop(attention(ln_1(x)));
    return x + drop(linear(c_out, torch::gelu(linear(c_fc, ln_2(x)))));
  }

  std::int64_t heads;
  double dropout;
  torch::nn::LayerNorm ln_1{nullptr}, ln_2{nullptr};
  torch::nn::Linear c_attn{nullptr}, c_proj{nullptr}, c_fc{nullptr}, c_out{nullptr};
};
TORCH_MODULE(Block);

/// Its inputs and targets are tokens, [N, T] int64; it returns the loss. Weights come from the
/// seed.
///
/// The embedding of the tokens is the last layer, too: it is registered once, so that the optimizer
/// sees it once.
struct GPT : torch::nn::Module {
  explicit GPT(const ModelOptions& a) : dropout{a.dropout}, checkpoint{a.checkpoint} {
    wte = register_module("wte", torch::nn::Embedding(a.vocab_size, a.width));
    wpe = register_module("wpe", torch::nn::Embedding(a.context, a.width));
    h = register_module("h", torch::nn::ModuleList());
    for (std::int64_t i = 0; i < a.layers; ++i) h->push_back(Block(a));
    ln_f = register_module("ln_f", torch::nn::LayerNorm(torch::nn::LayerNormOptions({a.width})));
    torch::NoGradGuard no_grad;
    torch::manual_seed(a.seed);
    for (auto& parameter : named_parameters()) init(parameter.key(), parameter.value(), a.layers);
  }

  static void init(const std::string& name, Tensor& parameter, std::int64_t layers) {
    const bool onto_residual = name.ends_with("c_proj.weight") || name.ends_with("c_out.weight");
    if (parameter.dim() > 1)
      parameter.normal_(0,
                        onto_residual ? 0.02 / std::sqrt(2.0 * static_cast<double>(layers)) : 0.02);
    else if (name.ends_with("bias"))
      parameter.zero_();
  }

  Tensor forward(const Tensor& tokens, const Tensor& targets) {
    Tensor x = wte(tokens) + wpe(torch::arange(tokens.size(1), tokens.device()));
    x = torch::dropout(x, dropout, is_training());
    for (const auto& block : *h) {
      const auto run = [block](const Tensor& y) { return block->as<Block>()->forward(y); };
      x = checkpoint ? ddprun::sdk::checkpoint(run, x) : run(x);
    }
    const Tensor logits = torch::linear(ln_f(x), wte->weight);
    return torch::nn::functional::cross_entropy(logits.flatten(0, 1), targets.flatten());
  }

  double dropout;
  bool checkpoint;
  torch::nn::Embedding wte{nullptr}, wpe{nullptr};
  torch::nn::ModuleList h{nullptr};
  torch::nn::LayerNorm ln_f{nullptr};
};

/// Floating-point operations a token, forward and backward, as nanoGPT counts them.
inline double flops_per_token(const ModelOptions& a, const GPT& model) {
  double parameters = -static_cast<double>(model.wpe->weight.numel());
  for (const Tensor& parameter : model.parameters())
    parameters += static_cast<double>(parameter.numel());
  return 6 * parameters + 12 * static_cast<double>(a.layers * a.width * a.context);
}

}  // namespace gpt
