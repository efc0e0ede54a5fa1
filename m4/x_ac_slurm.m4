# SPDX-License-Identifier: Apache-2.0
# X_AC_SLURM
#
# Finds Slurm's SPANK header, version and plugin folder, and, where it is installed, libslurm (for
# hybridmem-slurmenergy). --with-slurm=DIR names Slurm's prefix (default /usr). --with-slurm-plugindir=DIR names the
# folder in which Slurm looks for a plugin that plugstack.conf gives no path of; it is needed if that folder is none of
# the usual ones. Sets slurm_includedir, slurm_version, slurm_bindir, slurm_plugindir, SLURM_CPPFLAGS and SLURM_LIBS
# (the last four are substituted), have_libslurm for what configure prints at its end, and the conditional
# HAVE_LIBSLURM.
AC_DEFUN([X_AC_SLURM], [
  AC_ARG_WITH([slurm], [AS_HELP_STRING([--with-slurm=DIR], [prefix of the Slurm installation @<:@/usr@:>@])],
    [], [with_slurm=/usr])
  AS_CASE([$with_slurm], [yes|no], [AC_MSG_ERROR([--with-slurm wants a folder, not "$with_slurm"])])
  AC_ARG_WITH([slurm-plugindir],
    [AS_HELP_STRING([--with-slurm-plugindir=DIR], [where hybridmem.so goes @<:@Slurm's lib/slurm@:>@])],
    [slurm_plugindir=$withval], [slurm_plugindir=])
  slurm_includedir=$with_slurm/include
  slurm_bindir=$with_slurm/bin
  AC_SUBST([slurm_bindir])
  AC_DEFINE_UNQUOTED([HM_SLURM_BINDIR], ["$slurm_bindir"], [where scontrol is, before the usual folders])
  SLURM_CPPFLAGS=
  AS_IF([test "$slurm_includedir" != /usr/include], [SLURM_CPPFLAGS="-isystem $slurm_includedir"])

  hm_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
  AC_CHECK_HEADER([slurm/spank.h], [],
    [AC_MSG_ERROR([slurm/spank.h is not in $slurm_includedir: give --with-slurm=DIR (libslurm-dev, slurm-devel)])],
    [[#include <stdint.h>]])
  CPPFLAGS=$hm_save_CPPFLAGS

  AC_MSG_CHECKING([Slurm's version])
  CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
  AC_COMPUTE_INT([hm_slurm_major], [SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER)], [[#include <slurm/slurm_version.h>]], [hm_slurm_major=])
  AC_COMPUTE_INT([hm_slurm_minor], [SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER)], [[#include <slurm/slurm_version.h>]])
  AC_COMPUTE_INT([hm_slurm_micro], [SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER)], [[#include <slurm/slurm_version.h>]])
  CPPFLAGS=$hm_save_CPPFLAGS
  AS_IF([test -z "$hm_slurm_major"], [AC_MSG_ERROR([slurm/slurm_version.h in $slurm_includedir names no version])])
  slurm_version=$(printf '%d.%02d.%d' $hm_slurm_major $hm_slurm_minor $hm_slurm_micro)
  AC_MSG_RESULT([$slurm_version])
  AC_DEFINE_UNQUOTED([HM_SLURM_VERSION], ["$slurm_version"], [Slurm version that the plugin is built for])

  AC_MSG_CHECKING([Slurm's plugin folder])
  AS_IF([test -z "$slurm_plugindir"], [
    hm_multiarch=$($CC -print-multiarch 2>/dev/null)
    # Debian's packages keep Slurm's own plugins in slurm-wlm.
    for hm_place in lib/$hm_multiarch/slurm-wlm lib/$hm_multiarch/slurm lib64/slurm lib/slurm; do
      AS_IF([test -z "$slurm_plugindir" && test -d "$with_slurm/$hm_place"], [slurm_plugindir=$with_slurm/$hm_place])
    done
    AS_IF([test -z "$slurm_plugindir"], [slurm_plugindir='${libdir}/slurm'])
  ])
  AC_MSG_RESULT([$slurm_plugindir])
  AC_SUBST([slurm_plugindir])
  AC_SUBST([SLURM_CPPFLAGS])

  hm_slurm_folders=
  SLURM_LIBS=-lslurm
  AS_IF([test "$with_slurm" != /usr], [
    hm_slurm_folders="-L$with_slurm/lib64 -L$with_slurm/lib"
    SLURM_LIBS="$hm_slurm_folders -R $with_slurm/lib64 -R $with_slurm/lib -lslurm"
  ])
  AC_CHECK_LIB([slurm], [slurm_get_node_energy], [have_libslurm=yes], [have_libslurm=no], [$hm_slurm_folders])
  AC_SUBST([SLURM_LIBS])
  AM_CONDITIONAL([HAVE_LIBSLURM], [test "$have_libslurm" = yes])
])
