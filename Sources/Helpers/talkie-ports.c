/*
 * Binds the two UDP ports of PTP for a player that lacks the privilege.
 *
 *   talkie-ports ADDRESS      standard input: one end of a pair of Unix sockets (SOCK_SEQPACKET)
 *
 * Binds UDP 319 and 320 on a local IPv4 address and sends one message: the byte 0 with both sockets (SCM_RIGHTS, 319
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

/* Rejects the wildcard, multicast and broadcast addresses, which would take the ports from other programs. */
static int is_one_host(struct in_addr address) {
  in_addr_t number = ntohl(address.s_addr);
  return number != INADDR_ANY && !IN_MULTICAST(number) && !IN_BADCLASS(number);
}

/* Returns a socket bound to a port, or -1 with errno set. */
static int bound(struct in_addr address, in_port_t port) {
  int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
  struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
  if (descriptor >= 0 && bind(descriptor, (struct sockaddr *)&local, sizeof local) == 0) return descriptor;
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
  struct in_addr address;
  if (argc != 2 || inet_pton(AF_INET, argv[1], &address) != 1 || !is_unix_pair(STDIN_FILENO)) {
    ssize_t written = write(STDERR_FILENO, usage, sizeof usage - 1);
    return written < 0 ? 1 : 64;
  }
  if (!is_one_host(address)) return answer(EADDRNOTAVAIL, NULL);
  int sockets[2];
  for (int i = 0; i < 2; i++) {
    sockets[i] = bound(address, ports[i]);
    if (sockets[i] < 0) return answer((unsigned char)errno, NULL);
  }
  return answer(0, sockets);
}
