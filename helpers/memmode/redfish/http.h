/* SPDX-License-Identifier: Apache-2.0 */
/* Talks HTTPS to a Redfish service, by libcurl. As a library it gets the password in no argument list, file or
 * environment, and an answer can be cut off at any byte. */
#ifndef HM_MEMMODE_REDFISH_HTTP_H
#define HM_MEMMODE_REDFISH_HTTP_H

#include "answers.h"

#define HM_HTTP_MOST_BYTES (1024 * 1024) /* of an answer; a BIOS with a thousand attributes has 50 KB */
#define HM_HTTP_TEXT 128

struct hm_http_service {
    char base[HM_REDFISH_LINK]; /* "https://HOST" */
    char user[HM_HTTP_TEXT], password[HM_HTTP_TEXT];
    const char *ca; /* file of certificates; "": those of the system */
    bool verify;
    unsigned patience_s; /* for one answer, the connection included */
    void *curl;          /* of libcurl; it keeps the connection for the next question */
};

struct hm_http_answer {
    long status; /* of HTTP */
    char etag[HM_REDFISH_ETAG];
    size_t length;
    char text[HM_HTTP_MOST_BYTES];
};

/* Begin a conversation. It ends with the process, which is one for a conversation. Returns 0, or -1 (ENOMEM). */
int hm_http_begin(struct hm_http_service *service, struct hm_error *error);

/*
 * Get the resource at `path`; or, where `body` is not NULL, PATCH it, if it is still the one with this ETag ("": in any
 * case). No redirection is followed, and no proxy used. Returns 0 with an answer of any status, or -1 with a text:
 * EFBIG (the answer is longer than HM_HTTP_MOST_BYTES), ETIMEDOUT, EIO (all else). Only in a process with one thread.
 */
int hm_http_do(const struct hm_http_service *service, const char *path, const char *body, const char *etag,
               struct hm_http_answer *answer, struct hm_error *error);

#endif
