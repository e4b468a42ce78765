/* A client for .ci/programs: CONNECTIONS of them to a PORT or PATH, each with one request of a text after another, whose
   answers have ANSWER bytes, REQUESTS in all: load PORT|PATH CONNECTIONS REQUESTS TEXT ANSWER. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST = 1024 };

static int connected(const char *where) {
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int is_path = strchr(where, '/') != NULL;
    int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    strncpy(path.sun_path, where, sizeof path.sun_path - 1);
    port.sin_port = htons(atoi(where));
    struct sockaddr *to = is_path ? (struct sockaddr *)&path : (struct sockaddr *)&port;
    if (fd < 0 || connect(fd, to, is_path ? sizeof path : sizeof port) != 0) {
        perror(where);
        exit(1);
    }
    return fd;
}

static void ask(int fd, const char *text, size_t length) {
    if (write(fd, text, length) != (ssize_t)length) {
        perror("write");
        exit(1);
    }
}

int main(int count, char **words) {
    if (count != 6) return 2;
    int connections = atoi(words[2]), answer = atoi(words[5]);
    long requests = atol(words[3]), sent = 0, done = 0;
    size_t length = strlen(words[4]);
    static int fds[MOST], arrived[MOST];
    static char bytes[65536];
    int epoll = epoll_create1(0);
    if (connections < 1 || connections > MOST || requests < connections || answer < 1) return 2;
    for (int at = 0; at < connections; at++) {
        fds[at] = connected(words[1]);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = at};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fds[at], &event);
    }
    for (int at = 0; at < connections; at++, sent++) ask(fds[at], words[4], length);
    while (done < requests) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, -1);
        for (int one = 0; one < ready; one++) {
            int at = events[one].data.u32;
            ssize_t got = read(fds[at], bytes, sizeof bytes);
            if (got <= 0) {
                fprintf(stderr, "a connection ended after %ld answers\n", done);
                return 1;
            }
            arrived[at] += got;
            if (arrived[at] < answer) continue;
            arrived[at] -= answer;
            done++;
            if (sent < requests) {
                ask(fds[at], words[4], length);
                sent++;
            }
        }
    }
    return 0;
}
