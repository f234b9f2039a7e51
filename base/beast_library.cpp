// Beast, compiled into ddprun once: see BOOST_BEAST_SEPARATE_COMPILATION.
#include <boost/beast/src.hpp>
