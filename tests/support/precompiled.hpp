// The headers that most tests include, precompiled: see DDPRUN_PRECOMPILED. No file includes this
// one.
#pragma once

#include "base/precompiled.hpp"
#include "tests/support/catch.hpp"
