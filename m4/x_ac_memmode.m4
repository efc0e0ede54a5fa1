# SPDX-License-Identifier: Apache-2.0
# X_AC_MEMMODE
#
# Finds libexpat and libcurl, for hybridmem-memmode, which also needs what X_AC_NDCTL finds. With --with-memmode
# configure stops where one is missing; with --without-memmode the program is not built; with neither it is built where all are
# found. Sets have_memmode for the summary, EXPAT_* and CURL_* for the Makefiles, and the conditional HAVE_MEMMODE, which is in
# config.h, too.
AC_DEFUN([X_AC_MEMMODE], [
  AC_REQUIRE([X_AC_NDCTL])
  AC_ARG_WITH([memmode], [AS_HELP_STRING([--with-memmode], [build hybridmem-memmode, for Optane's Memory Mode and modes by Redfish @<:@where libndctl, expat and libcurl are@:>@])],
    [], [with_memmode=auto])
  have_memmode=no
  AS_IF([test "$with_memmode" != no], [
    PKG_CHECK_MODULES([EXPAT], [expat >= 2.2], [have_memmode=$have_ndctl], [have_memmode=no])
    PKG_CHECK_MODULES([CURL], [libcurl >= 7.61], [], [have_memmode=no])
    AS_IF([test "$with_memmode$have_memmode" = yesno],
      [AC_MSG_ERROR([--with-memmode: expat 2.2 or later (libexpat1-dev, expat-devel), libcurl 7.61 or later (libcurl4-openssl-dev, libcurl-devel) or what --with-ndctl needs is missing])])
  ])
  AS_IF([test "$have_memmode" = yes], [AC_DEFINE([HAVE_MEMMODE], [1], [hybridmem-memmode is built])])
  AM_CONDITIONAL([HAVE_MEMMODE], [test "$have_memmode" = yes])
])
