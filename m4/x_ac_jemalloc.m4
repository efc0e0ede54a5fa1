# SPDX-License-Identifier: Apache-2.0
# X_AC_JEMALLOC
#
# Finds jemalloc's header and its archive of position-independent code, for the arenas of guided programs. They become a
# part of libhybridmem-guide.so, under names of its own: a jemalloc that the program itself uses is another one. With
# --with-jemalloc configure stops where it is missing; with --without-jemalloc it is not used; with neither it is used
# where it is found. Sets have_jemalloc for the summary, JEMALLOC_ARCHIVE for the Makefile, HM_ARENAS for config.h, and
# the conditional HAVE_JEMALLOC.
AC_DEFUN([X_AC_JEMALLOC], [
  AC_ARG_WITH([jemalloc], [AS_HELP_STRING([--with-jemalloc], [place small allocations of guided programs, too @<:@where jemalloc's archive is@:>@])],
    [], [with_jemalloc=auto])
  AC_CHECK_TOOL([OBJCOPY], [objcopy])
  have_jemalloc=no
  JEMALLOC_ARCHIVE=
  AS_IF([test "$with_jemalloc" != no], [
    AC_MSG_CHECKING([for jemalloc 5 and libjemalloc_pic.a])
    hm_archive=$($CC -print-file-name=libjemalloc_pic.a)
    hm_save_LIBS=$LIBS
    LIBS="$hm_archive -pthread -lm -ldl"
    # linked, as some builds of jemalloc have other names for its functions, or need libraries that are not here
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <jemalloc/jemalloc.h>
      #if JEMALLOC_VERSION_MAJOR < 5
      #error too old
      #endif
      extent_hooks_t hooks;
      ]], [[return mallocx(1, MALLOCX_ARENA(0)) == 0;]])],
      [AS_IF([test -n "$OBJCOPY"], [have_jemalloc=yes; JEMALLOC_ARCHIVE=$hm_archive])])
    LIBS=$hm_save_LIBS
    AC_MSG_RESULT([$have_jemalloc])
    AS_IF([test "$with_jemalloc" = yes && test "$have_jemalloc" = no],
      [AC_MSG_ERROR([--with-jemalloc: jemalloc 5 or its libjemalloc_pic.a is missing (libjemalloc-dev), or objcopy is])])
  ])
  AC_SUBST([JEMALLOC_ARCHIVE])
  AM_CONDITIONAL([HAVE_JEMALLOC], [test "$have_jemalloc" = yes])
  AS_IF([test "$have_jemalloc" = yes], [hm_arenas=1], [hm_arenas=0])
  AC_DEFINE_UNQUOTED([HM_ARENAS], [$hm_arenas], [1: guided programs have arenas for small allocations])
])
