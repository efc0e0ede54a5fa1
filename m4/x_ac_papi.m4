# SPDX-License-Identifier: Apache-2.0
# X_AC_PAPI
#
# Finds libpapi, for hybridmem-papi. With --with-papi configure stops where it is missing; with --without-papi it is not
# used; with neither it is used where it is found. Sets have_papi and papi_version for the summary, PAPI_* for the
# Makefile, and the conditional HAVE_PAPI.
AC_DEFUN([X_AC_PAPI], [
  AC_ARG_WITH([papi], [AS_HELP_STRING([--with-papi], [build hybridmem-papi, for PAPI's counters @<:@where libpapi is@:>@])],
    [], [with_papi=auto])
  have_papi=no
  papi_version=none
  AS_IF([test "$with_papi" != no], [
    PKG_CHECK_MODULES([PAPI], [papi >= 6.0], [have_papi=yes], [have_papi=no])
    AS_IF([test "$have_papi" = yes], [papi_version=$($PKG_CONFIG --modversion papi)],
      [test "$with_papi" = yes], [AC_MSG_ERROR([--with-papi: libpapi 6.0 or later is missing (libpapi-dev; papi-devel)])])
  ])
  AM_CONDITIONAL([HAVE_PAPI], [test "$have_papi" = yes])
])
