/* SPDX-License-Identifier: Apache-2.0 */
#include "given.h"

_Thread_local uint64_t HM_SITES_GIVEN;
