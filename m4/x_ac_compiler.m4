# SPDX-License-Identifier: Apache-2.0
# X_AC_COMPILER
#
# Chooses the flags of the compiler and the linker: warnings (--enable-werror makes them errors), hardening, and what
# --enable-sanitizers (address, undefined) and --enable-fuzzers (clang's libFuzzer) need. Sets HM_CFLAGS and HM_LDFLAGS
# for all targets of this project, HM_PLAIN_CFLAGS and HM_PLAIN_LDFLAGS without sanitizers and fuzzers, and the
# conditional FUZZERS.
AC_DEFUN([X_AC_COMPILER], [
  HM_CFLAGS="-std=gnu11 -Wall -Wextra -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wvla -Wundef -fvisibility=hidden"
  HM_LDFLAGS="-Wl,-z,relro,-z,now"
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])], [], [enable_werror=no])
  warnings_are=printed
  AS_IF([test "$enable_werror" = yes], [HM_CFLAGS="$HM_CFLAGS -Werror"; warnings_are=errors])
  # For the preload library: it is loaded into programs of others, which cannot be built with sanitizers.
  HM_PLAIN_CFLAGS="$HM_CFLAGS -fstack-protector-strong"
  HM_PLAIN_LDFLAGS=$HM_LDFLAGS
  AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers], [build with the address and undefined behaviour sanitizers])],
    [], [enable_sanitizers=no])
  AS_IF([test "$enable_sanitizers" = yes],
    [HM_CFLAGS="$HM_CFLAGS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
     HM_LDFLAGS="$HM_LDFLAGS -fsanitize=address,undefined"],
    [HM_CFLAGS="$HM_CFLAGS -fstack-protector-strong"])
  AC_ARG_ENABLE([fuzzers], [AS_HELP_STRING([--enable-fuzzers], [build the fuzz targets in tests/fuzz (needs clang)])],
    [], [enable_fuzzers=no])
  AS_IF([test "$enable_fuzzers" = yes], [
    AC_MSG_CHECKING([whether $CC has libFuzzer])
    hm_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])], [AC_MSG_ERROR([--enable-fuzzers needs clang: set CC=clang])])
    CFLAGS=$hm_save_CFLAGS
    HM_CFLAGS="$HM_CFLAGS -fsanitize=fuzzer-no-link"
  ])
  AM_CONDITIONAL([FUZZERS], [test "$enable_fuzzers" = yes])
  AC_SUBST([HM_CFLAGS])
  AC_SUBST([HM_LDFLAGS])
  AC_SUBST([HM_PLAIN_CFLAGS])
  AC_SUBST([HM_PLAIN_LDFLAGS])
])
