# SPDX-License-Identifier: Apache-2.0
# X_AC_NDCTL
#
# Finds libndctl, libdaxctl, libkmod and libuuid, for hybridmem-namespace (fsdax, ram). With --with-ndctl configure
# stops where they are missing; with --without-ndctl they are not used; with neither they are used where they are found.
# Sets have_ndctl and ndctl_version for the summary, NDCTL_* and UUID_* for the Makefiles, and the conditional
# HAVE_NDCTL, which is in config.h, too.
AC_DEFUN([X_AC_NDCTL], [
  AC_ARG_WITH([ndctl], [AS_HELP_STRING([--with-ndctl], [build hybridmem-namespace, for fsdax @<:@where libndctl is@:>@])],
    [], [with_ndctl=auto])
  have_ndctl=no
  ndctl_version=none
  AS_IF([test "$with_ndctl" != no], [
    PKG_CHECK_MODULES([NDCTL], [libndctl >= 68 libdaxctl >= 68 libkmod], [have_ndctl=yes], [have_ndctl=no])
    PKG_CHECK_MODULES([UUID], [uuid >= 2.31], [], [have_ndctl=no])
    AS_IF([test "$have_ndctl" = yes], [ndctl_version=$($PKG_CONFIG --modversion libndctl)],
      [test "$with_ndctl" = yes], [AC_MSG_ERROR([--with-ndctl: libndctl and libdaxctl 68 or later, libkmod, or libuuid 2.31 or later is missing (libndctl-dev, libdaxctl-dev, libkmod-dev, uuid-dev; ndctl-devel and daxctl-devel, of EPEL, kmod-devel, libuuid-devel)])])
  ])
  AS_IF([test "$have_ndctl" = yes], [AC_DEFINE([HAVE_NDCTL], [1], [hybridmem-namespace is built])])
  AM_CONDITIONAL([HAVE_NDCTL], [test "$have_ndctl" = yes])
])
