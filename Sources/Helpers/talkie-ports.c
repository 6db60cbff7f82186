/*
 * Binds the two UDP ports of PTP for a player that lacks the privilege.
 *
 *   talkie-ports ADDRESS      standard input: one end of a pair of Unix sockets (SOCK_SEQPACKET)
 *
 * Binds UDP 319 and 320 on a local address, IPv4 or IPv6 (fe80::1%2: on interface 2), and sends one message: the byte 0 with both sockets (SCM_RIGHTS, 319
 * first), or only the number of an error (errno(3)). Then it exits; status 0 if both sockets were sent.
 *
 * It is the only program whose file may have a capability (cap_net_bind_service=ep), so that the player needs none. It
 * gives access to these two ports and to nothing else: it opens no file, reads neither the environment nor its input,
 * and loads nothing but the C library. It creates the sockets itself, so that the caller cannot set options in advance:
 * SO_REUSEADDR would share a port that another program uses.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* IEEE 1588-2008, annex D.2: event messages, general messages. */
static const in_port_t ports[2] = {319, 320};

/* Returns nonzero for a Unix socket of type SOCK_SEQPACKET. */
static int is_unix_pair(int descriptor) {
  int domain = 0, type = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return 0;
  size = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return 0;
  return domain == AF_UNIX && type == SOCK_SEQPACKET;
}

/* An address of either family, without a port. */
union local {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

/* Reads an address and the number of its interface. Returns nonzero on success. */
static int read_address(char *text, union local *local) {
  memset(local, 0, sizeof *local);
  if (inet_pton(AF_INET, text, &local->v4.sin_addr) == 1) {
    local->any.sa_family = AF_INET;
    return 1;
  }
  local->any.sa_family = AF_INET6;
  char *mark = strchr(text, '%');
  if (mark) {
    *mark = 0;
    for (const char *digit = mark + 1; *digit; digit++) {
      if (*digit < '0' || *digit > '9' || local->v6.sin6_scope_id > 100000000) return 0;
      local->v6.sin6_scope_id = local->v6.sin6_scope_id * 10 + (uint32_t)(*digit - '0');
    }
  }
  return inet_pton(AF_INET6, text, &local->v6.sin6_addr) == 1;
}

/* Rejects the wildcard, multicast and broadcast addresses, which would take the ports from other programs; so would an
 * IPv4 address in IPv6. */
static int is_one_host(const union local *local) {
  if (local->any.sa_family == AF_INET6) {
    const struct in6_addr *address = &local->v6.sin6_addr;
    return !IN6_IS_ADDR_UNSPECIFIED(address) && !IN6_IS_ADDR_MULTICAST(address) && !IN6_IS_ADDR_V4MAPPED(address);
  }
  in_addr_t number = ntohl(local->v4.sin_addr.s_addr);
  return number != INADDR_ANY && !IN_MULTICAST(number) && !IN_BADCLASS(number);
}

/* Returns a socket bound to a port, or -1 with errno set. */
static int bound(union local local, in_port_t port) {
  int is_v4 = local.any.sa_family == AF_INET;
  if (is_v4) local.v4.sin_port = htons(port);
  else local.v6.sin6_port = htons(port);
  int descriptor = socket(local.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
  if (descriptor >= 0 && bind(descriptor, &local.any, is_v4 ? sizeof local.v4 : sizeof local.v6) == 0) return descriptor;
  return -1;
}

/* Sends the response, non-blocking: a new socket pair has space for one message. Returns the exit status. */
static int answer(unsigned char code, const int sockets[2]) {
  union {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
  } control = {{0}};
  struct iovec part = {&code, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (sockets) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(item), sockets, 2 * sizeof(int));
  }
  return sendmsg(STDIN_FILENO, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 && code == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  static const char usage[] = "talkie-ports: this program is started by talkie; there is nothing to do with it by hand.\n";
  union local address;
  if (argc != 2 || !read_address(argv[1], &address) || !is_unix_pair(STDIN_FILENO)) {
    ssize_t written = write(STDERR_FILENO, usage, sizeof usage - 1);
    return written < 0 ? 1 : 64;
  }
  if (!is_one_host(&address)) return answer(EADDRNOTAVAIL, NULL);
  int sockets[2];
  for (int i = 0; i < 2; i++) {
    sockets[i] = bound(address, ports[i]);
    if (sockets[i] < 0) return answer((unsigned char)errno, NULL);
  }
  return answer(0, sockets);
}
