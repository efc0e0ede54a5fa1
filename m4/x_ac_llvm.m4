# SPDX-License-Identifier: Apache-2.0
# X_AC_LLVM
#
# Finds the headers of LLVM 14 or later and a C++ compiler, for the pass of hybridmem-cc. With --with-llvm[=PROGRAM],
# the llvm-config of an LLVM, configure stops where they are missing; with --without-llvm the pass is not built; with
# neither it is built where they are found, and not for another machine. Sets have_llvm and llvm_version for the summary,
# LLVM_CPPFLAGS, HM_PLAIN_CXXFLAGS, LLVM_CLANG, LLVM_CLANGXX, LLVM_FLANG and LLVM_MAJOR for the Makefile, and the
# conditional HAVE_LLVM.
AC_DEFUN([X_AC_LLVM], [
  AC_REQUIRE([X_AC_COMPILER])
  AC_ARG_WITH([llvm], [AS_HELP_STRING([--with-llvm@<:@=PROGRAM@:>@], [build hybridmem-cc, for the LLVM of this llvm-config @<:@where LLVM is@:>@])],
    [], [with_llvm=auto])
  have_llvm=no
  llvm_version=none
  AS_CASE([$with_llvm],
    [no], [LLVM_CONFIG=],
    [auto], [AS_IF([test "$cross_compiling" = no], [AC_PATH_PROG([LLVM_CONFIG], [llvm-config])])],
    [yes], [AC_PATH_PROG([LLVM_CONFIG], [llvm-config])],
    [LLVM_CONFIG=$with_llvm])
  AS_IF([test -n "$LLVM_CONFIG"], [
    llvm_version=$("$LLVM_CONFIG" --version 2>/dev/null) || llvm_version=none
    LLVM_MAJOR=${llvm_version%%.*}
    hm_llvm_folder=$("$LLVM_CONFIG" --bindir 2>/dev/null)
    LLVM_CLANG=$hm_llvm_folder/clang
    LLVM_CLANGXX=$hm_llvm_folder/clang++
    # up to LLVM 19 the Fortran compiler is called flang-new; before 16 it takes no pass
    LLVM_FLANG=$hm_llvm_folder/flang
    AS_CASE([$LLVM_MAJOR], [1@<:@0-9@:>@], [LLVM_FLANG=$hm_llvm_folder/flang-new])
    hm_llvm_folder=$("$LLVM_CONFIG" --includedir 2>/dev/null)
    LLVM_CPPFLAGS=
    # named once more, that folder would come before that of the C++ library, which is before it for a reason
    AS_IF([test "$hm_llvm_folder" != /usr/include], [LLVM_CPPFLAGS="-isystem $hm_llvm_folder"])
    HM_PLAIN_CXXFLAGS="-std=c++17 -fno-exceptions -Wall -Wextra -Wformat=2 -Wshadow -Wpointer-arith -Wcast-qual -Wvla -Wundef -fvisibility=hidden -fstack-protector-strong"
    AS_IF([test "$enable_werror" = yes], [HM_PLAIN_CXXFLAGS="$HM_PLAIN_CXXFLAGS -Werror"])
    AS_IF([test "$("$LLVM_CONFIG" --has-rtti 2>/dev/null)" != YES], [HM_PLAIN_CXXFLAGS="$HM_PLAIN_CXXFLAGS -fno-rtti"])
    AC_MSG_CHECKING([for the headers of LLVM 14 or later])
    AC_LANG_PUSH([C++])
    hm_save_CPPFLAGS=$CPPFLAGS
    hm_save_CXXFLAGS=$CXXFLAGS
    CPPFLAGS="$CPPFLAGS $LLVM_CPPFLAGS"
    CXXFLAGS="$CXXFLAGS -std=c++17"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
      #include <llvm/Config/llvm-config.h>
      #include <llvm/Passes/PassPlugin.h>
      #if LLVM_VERSION_MAJOR < 14
      #error too old
      #endif]])], [have_llvm=yes])
    CPPFLAGS=$hm_save_CPPFLAGS
    CXXFLAGS=$hm_save_CXXFLAGS
    AC_LANG_POP([C++])
    AC_MSG_RESULT([$have_llvm])
  ])
  AS_IF([test "$have_llvm" = no], [
    AS_CASE([$with_llvm:$llvm_version], [no:*|auto:*], [],
      [yes:*|*:@<:@0-9@:>@*], [AC_MSG_ERROR([--with-llvm: the headers of LLVM 14 or later, or a C++ compiler, are missing (llvm-dev, g++; llvm-devel, gcc-c++)])],
      [AC_MSG_ERROR([--with-llvm=$with_llvm is no llvm-config: name one, such as llvm-config-19])])
  ])
  AC_SUBST([LLVM_CPPFLAGS])
  AC_SUBST([HM_PLAIN_CXXFLAGS])
  AC_SUBST([LLVM_CLANG])
  AC_SUBST([LLVM_CLANGXX])
  AC_SUBST([LLVM_FLANG])
  AC_SUBST([LLVM_MAJOR])
  AM_CONDITIONAL([HAVE_LLVM], [test "$have_llvm" = yes])
])
