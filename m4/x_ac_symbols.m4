# SPDX-License-Identifier: Apache-2.0
# X_AC_SYMBOLS
#
# Checks that the linker takes a version script. The plugin needs one to export only SPANK's symbols, as Slurm's loader
# calls any function named init or fini.
AC_DEFUN([X_AC_SYMBOLS], [
  AC_MSG_CHECKING([for linker version scripts])
  hm_save_LDFLAGS=$LDFLAGS
  echo '{ global: main; local: *; };' > conftest.map
  LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
  AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])],
    [AC_MSG_ERROR([the linker takes no version script; use GNU ld, gold or lld])])
  LDFLAGS=$hm_save_LDFLAGS
  rm -f conftest.map
])
