// Takes secrets out of words that are written to a file. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// Stands for a value that is not told.
inline constexpr char kHidden[] = "***";

/// Whether the value of an option or a variable of that name is a secret, as far as the name tells:
/// "--hf-token", "WANDB_API_KEY", "db.password"; not "--max-tokens", "tokenizer".
bool names_secret(std::string_view name);

/// Returns the words of a command with kHidden in place of secrets: of values whose name says so,
/// behind '=' or ':' or in the word behind an option, also inside a word that a shell is to run, or
/// that is JSON; and of a user's part of an address, https://user:password@host. Where it is not
/// clear how far a secret goes, too much is hidden.
std::vector<std::string> without_secrets(const std::vector<std::string>& words);

/// Does so for the value of the option or variable `name`.
std::string without_secrets(std::string_view name, const std::string& value);

}  // namespace ddprun
