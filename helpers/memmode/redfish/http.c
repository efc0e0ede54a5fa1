/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define AGENT "hybridmem"

/* libcurl calls it with each part of the body. Fewer bytes than it was given end the transfer. */
static size_t take_body(char *bytes, size_t one, size_t n, void *into)
{
    struct hm_http_answer *answer = into;
    (void)one; /* always 1 */
    if (n > sizeof(answer->text) - answer->length)
        return 0;
    memcpy(answer->text + answer->length, bytes, n);
    answer->length += n;
    return n;
}

/* libcurl calls it with each line of the header, which no NUL ends. An ETag that is none is as good as missing. */
static size_t take_header(char *bytes, size_t one, size_t n, void *into)
{
    static const char name[] = "ETag:";
    struct hm_http_answer *answer = into;
    size_t begin = sizeof(name) - 1, end = n;
    (void)one;
    if (n < begin || strncasecmp(bytes, name, begin) != 0)
        return n;
    while (begin < end && bytes[begin] == ' ')
        begin++;
    while (end > begin && (unsigned char)bytes[end - 1] <= ' ')
        end--;
    if (end - begin < sizeof(answer->etag)) {
        memcpy(answer->etag, bytes + begin, end - begin);
        answer->etag[end - begin] = '\0';
    }
    if (!hm_redfish_is_etag(answer->etag))
        answer->etag[0] = '\0';
    return n;
}

static CURLcode set_service(CURL *curl, const struct hm_http_service *service, const char *path)
{
    char url[2 * HM_REDFISH_LINK];
    snprintf(url, sizeof(url), "%s%s", service->base, path);
    CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
    code = code ? code : curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
#else
    code = code ? code : curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
    code = code ? code : curl_easy_setopt(curl, CURLOPT_PROXY, "");
    code = code ? code : curl_easy_setopt(curl, CURLOPT_USERAGENT, AGENT);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_USERNAME, service->user);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_PASSWORD, service->password);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, service->verify ? 1L : 0L);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, service->verify ? 2L : 0L);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)service->patience_s);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    if (!code && service->ca[0])
        code = curl_easy_setopt(curl, CURLOPT_CAINFO, service->ca);
    return code;
}

static CURLcode set_request(CURL *curl, const char *body, const struct curl_slist *headers,
                            struct hm_http_answer *answer)
{
    CURLcode code = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer);
    code = code ? code : curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (!code && body)
        code = curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "PATCH");
    if (!code && body)
        code = curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    return code;
}

/* The headers of the request, for curl_slist_free_all, or NULL. */
static struct curl_slist *list_headers(const char *body, const char *etag)
{
    char match[HM_REDFISH_ETAG + 16];
    const char *const lines[] = {"Accept: application/json", "OData-Version: 4.0",
                                 body ? "Content-Type: application/json" : NULL, body && etag[0] ? match : NULL};
    struct curl_slist *list = NULL;
    snprintf(match, sizeof(match), "If-Match: %s", etag);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct curl_slist *longer = lines[i] ? curl_slist_append(list, lines[i]) : list;
        if (!longer) {
            curl_slist_free_all(list);
            return NULL;
        }
        list = longer;
    }
    return list;
}

static int explain(CURLcode code, const char *detail, const struct hm_http_service *service, struct hm_error *error)
{
    if (code == CURLE_WRITE_ERROR)
        return hm_fail(error, EFBIG, "the answer has more than %d bytes", HM_HTTP_MOST_BYTES);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return hm_fail(error, ETIMEDOUT, "no whole answer within %u s", service->patience_s);
    return hm_fail(error, EIO, "%.300s", detail[0] ? detail : curl_easy_strerror(code));
}

int hm_http_begin(struct hm_http_service *service, struct hm_error *error)
{
    service->curl = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_easy_init() : NULL;
    return service->curl ? 0 : hm_fail(error, ENOMEM, "libcurl does not begin");
}

int hm_http_do(const struct hm_http_service *service, const char *path, const char *body, const char *etag,
               struct hm_http_answer *answer, struct hm_error *error)
{
    char detail[CURL_ERROR_SIZE] = "";
    CURLcode code = CURLE_OUT_OF_MEMORY;
    answer->status = 0;
    answer->etag[0] = '\0';
    answer->length = 0;
    CURL *curl = service->curl;
    struct curl_slist *headers = list_headers(body, etag);
    curl_easy_reset(curl);
    if (headers)
        code = curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    code = code ? code : set_service(curl, service, path);
    code = code ? code : set_request(curl, body, headers, answer);
    code = code ? code : curl_easy_perform(curl);
    code = code ? code : curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
    int result = code == CURLE_OK ? 0 : explain(code, detail, service, error);
    curl_slist_free_all(headers);
    curl_easy_reset(curl); /* it must not keep what ends with this function */
    return result;
}
