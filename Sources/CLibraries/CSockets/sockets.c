#define _GNU_SOURCE
#include "CSockets.h"
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

ssize_t csock_receive_stamped(int socket, void *buffer, size_t length, struct sockaddr_storage *from, int64_t *stamp_ns) {
  union {
    char bytes[CMSG_SPACE(sizeof(struct timespec))];
    struct cmsghdr align;
  } control;
  struct iovec part = {buffer, length};
  struct msghdr message = {0};
  message.msg_name = from;
  message.msg_namelen = sizeof *from;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  *stamp_ns = 0;
  ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT);
  if (count < 0) return count;
  for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec time;
    memcpy(&time, CMSG_DATA(item), sizeof time);
    *stamp_ns = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
  }
  return count;
}

int csock_receive_descriptors(int socket, uint8_t *code, int *descriptors, int max) {
  union {
    /* SCM_MAX_FD of unix(7), so that every received descriptor is stored or closed. */
    char bytes[CMSG_SPACE(253 * sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {code, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0) return -1;
  int found = 0;
  for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= item->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(item) + at, sizeof descriptor);
      if (count == 1 && found < max) descriptors[found++] = descriptor;
      else close(descriptor);
    }
  }
  return count == 1 ? found : -1;
}

int csock_accept(int listener, struct sockaddr *from, socklen_t *size) {
  return accept4(listener, from, size, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int csock_unacknowledged_bytes(int socket) {
  int count = 0;
  return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
}

int64_t csock_shortest_round_trip_us(int socket) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return -1;
  if (size < offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt) return -1;
  return info.tcpi_min_rtt == 0 || info.tcpi_min_rtt == UINT32_MAX ? -1 : info.tcpi_min_rtt;
}

int csock_open_event_counter(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int csock_poll(struct pollfd *descriptors, nfds_t count, int64_t timeout_ns) {
  struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
  return ppoll(descriptors, count, timeout_ns < 0 ? NULL : &timeout, NULL);
}

