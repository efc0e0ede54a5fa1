/* SPDX-License-Identifier: Apache-2.0 */
/* A fake environment of a task, for tests of what is set in it. It has room for eight variables. */
#ifndef FAKEENVIRONMENT_H
#define FAKEENVIRONMENT_H

#include "job/step/isolate.h"

/* Returns the fake environment, the only one. */
const struct hm_environment *fake_environment(void);
void fake_environment_clear(void);
void fake_environment_put(const char *name, const char *value);
/* The variable's value; NULL if it is not set. */
const char *fake_environment_get(const char *name);
/* From now on setting a variable fails (ENOMEM), until the environment is cleared. */
void fake_environment_fill(void);

#endif
