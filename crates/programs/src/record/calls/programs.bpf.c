// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The programs that the kernel runs at system calls, forks and ends of tasks
// while `record` records (Linux 5.11).
//
// They read numbers, sizes, results and times of calls, and the kind, number,
// name and addresses of the objects that descriptors stand for. The only memory
// of a process that they read is a message header, for what else goes with a
// message.
//
// `.ci/bpf` compiles this file; CONTRIBUTING.md says when. Only those members
// of the kernel's structures are declared that the programs read: the loader
// finds out where the running kernel has them.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NULL ((void *)0)

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Functions of the kernel, by number (linux/bpf.h).
static void *(*const look_up)(void *map, const void *key) = (void *)1;
static long (*const update)(void *map, const void *key, const void *value,
                            u64 flags) = (void *)2;
static long (*const delete)(void *map, const void *key) = (void *)3;
static u64 (*const now_ns)(void) = (void *)5;
static u64 (*const host_numbers)(void) = (void *)14;
static long (*const task_name)(void *to, u32 size) = (void *)16;
static long (*const read_user)(void *to, u32 size,
                               const void *from) = (void *)112;
static long (*const read_kernel)(void *to, u32 size,
                                 const void *from) = (void *)113;
static long (*const read_text)(void *to, u32 size,
                               const void *from) = (void *)115;
static long (*const numbers_within)(u64 device, u64 inode, void *to,
                                    u32 size) = (void *)120;
static void *(*const reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const submit)(void *event, u64 flags) = (void *)132;
static struct task_struct *(*const current_task)(void) = (void *)158;

// The reader polls and need not be woken (BPF_RB_NO_WAKEUP).
enum { UNANNOUNCED = 1 };

// ---- What both sides know: `event.rs` of this folder has the same, and the
// compilers of both check the numbers.

enum { CALL = 1, OBJECT = 2, FORK = 3, PROGRAM = 4 };

// What is of interest at a call. A call that is not recorded has none of these
// bits.
enum {
  RECORDED = 1,
  DESCRIPTOR = 2, // Its first argument is a descriptor.
  HEADER = 4,   // Its second argument is the header of a message that goes out.
  EXECUTES = 8, // It gives the process another program.
  DATA = 16,    // It moves data: its socket is what it will be.
  ADDRESS = 32, // It may name an address, as its fifth argument,
  MESSAGE = 64, // or in the header that its second argument is.
  RECEIVES = 128, // The length of that address stands elsewhere.
};

struct call_event {
  u16 kind;
  u16 number;
  u32 control; // The kind of the first control message, and 1; 0: none.
  u32 thread;
  u32 process;
  u64 begun; // ns of the monotonic clock; 0 if the entry was not seen.
  u64 ended;
  s64 result;
  u64 arguments[4];
  u64 object; // 0: unknown.
  u64 address; // That it names, in one number (datagrams.rs); 0: none.
};

struct object_event {
  u16 kind;
  u16 mode;
  u32 ports; // The peer's is the lower half, in the order of the network; the
             // own one is in the order of the machine.
  u64 id;
  u64 own;  // The address of the socket in the kernel, which is only compared.
  u64 peer; // That of its peer, if it is a UNIX socket.
  u64 addresses; // Of IP version 4: the peer's is the lower half.
  u32 name_size; // Of the address of a UNIX socket, with its family.
  u16 family;
  u16 sort; // SOCK_STREAM and so on.
  u8 state;
  u8 has_peers_name;
  char name[110]; // The address of a UNIX socket (struct sockaddr_un), or text
                  // that ends with a zero.
  u64 peer_address; // That of the peer of a UNIX socket, as in a call.
};

struct fork_event {
  u16 kind;
  u32 parent;
  u32 child;
};

struct program_event {
  u16 kind;
  u32 process;
  char name[16];
};

#define SIZE(event, bytes)                                                     \
  _Static_assert(sizeof(struct event) == bytes, "event.rs has another size")
#define AT(event, member, offset)                                              \
  _Static_assert(__builtin_offsetof(struct event, member) == offset,           \
                 "event.rs has it elsewhere")

SIZE(call_event, 88);
AT(call_event, number, 2);
AT(call_event, control, 4);
AT(call_event, thread, 8);
AT(call_event, process, 12);
AT(call_event, begun, 16);
AT(call_event, ended, 24);
AT(call_event, result, 32);
AT(call_event, arguments, 40);
AT(call_event, object, 72);
AT(call_event, address, 80);

SIZE(object_event, 168);
AT(object_event, mode, 2);
AT(object_event, ports, 4);
AT(object_event, id, 8);
AT(object_event, own, 16);
AT(object_event, peer, 24);
AT(object_event, addresses, 32);
AT(object_event, name_size, 40);
AT(object_event, family, 44);
AT(object_event, sort, 46);
AT(object_event, state, 48);
AT(object_event, has_peers_name, 49);
AT(object_event, name, 50);
AT(object_event, peer_address, 160);

SIZE(fork_event, 12);
AT(fork_event, parent, 4);
AT(fork_event, child, 8);

SIZE(program_event, 24);
AT(program_event, process, 4);
AT(program_event, name, 8);

// The PID namespace by whose numbers processes are known: device and number of
// its file; 0 stands for the host.
const volatile u64 namespace_device = 0;
const volatile u64 namespace_inode = 0;

// ---- Maps. The loader reads their descriptions from the names of these
// members, as libbpf has them.

enum { HASH = 1, ARRAY = 2, RECENT_HASH = 9, RING = 27 };

#define NUMBER(name, value) int(*name)[value]
#define MAP(name, kind, key_type, value_type, most)                            \
  struct {                                                                     \
    NUMBER(type, kind);                                                        \
    NUMBER(max_entries, most);                                                 \
    key_type *key;                                                             \
    value_type *value;                                                         \
  } name SEC(".maps")

// Processes, threads and objects at a time, and calls, whose numbers are below
// this one.
enum { MOST = 1 << 16, CALLS = 512 };

// Stands for the number of any call of a 32-bit program, on both sides.
enum { FOREIGN = 0xffff };

// execve of 32-bit programs, on x86 and on Arm (asm/unistd.h).
enum { FOREIGN_EXECVE = 11 };

struct entry {
  u64 numbers;
  u64 at;
  u64 is_foreign;
};

// Processes that are recorded.
MAP(processes, HASH, u32, u32, MOST);
// The class of each call.
MAP(classes, ARRAY, u32, u8, CALLS);
// By the lower half of its number, the thread that is in a call, and when it
// entered that.
MAP(entries, ARRAY, u32, struct entry, MOST);
// Objects that were told of, and whether all is known of them.
MAP(known, RECENT_HASH, u64, u64, MOST);
// By the lower half of its number, an object of which all is known: most calls
// look no further.
MAP(recent, ARRAY, u32, u64, MOST);
// How many events found no room.
MAP(lost, ARRAY, u32, u64, 1);

// At 96 bytes a call with its length there is room for 175,000 calls, which is
// half a second of the busiest programs seen.
struct {
  NUMBER(type, RING);
  NUMBER(max_entries, 16 << 20);
} events SEC(".maps");

// ---- Structures of the kernel.

#pragma clang attribute push(__attribute__((preserve_access_index)),           \
                             apply_to = record)

struct pid_namespace;

struct upid {
  int nr;
  struct pid_namespace *ns;
};

// A process has a number in each PID namespace that it is in, by their depth.
struct pid {
  u32 level;
  struct upid numbers[1];
};

struct signal_struct {
  struct {
    int counter;
  } live;
  // The second of them is that of the process (PIDTYPE_TGID,
  // linux/pid_types.h).
  struct pid *pids[4];
};

struct super_block;

struct inode {
  u16 i_mode;
  struct super_block *i_sb;
  unsigned long i_ino;
};

struct qstr {
  const u8 *name;
};

struct dentry {
  struct qstr d_name;
};

struct path {
  struct dentry *dentry;
};

struct file {
  struct path f_path;
  struct inode *f_inode;
  void *private_data;
};

struct fdtable {
  u32 max_fds;
  struct file **fd;
};

struct files_struct {
  struct fdtable *fdt;
};

// x86-64 has the state of a call in `status`, and aarch64 has no such member.
struct thread_info {
  unsigned long flags;
  u32 status;
};

struct task_struct {
  struct thread_info thread_info;
  int tgid;
  struct pid *thread_pid;
  struct signal_struct *signal;
  struct files_struct *files;
};

struct sock_common {
  u64 skc_addrpair;
  u32 skc_portpair;
  u16 skc_family;
  u8 skc_state;
};

struct sock {
  struct sock_common __sk_common;
  u16 sk_type;
};

struct socket {
  struct sock *sk;
};

struct sockaddr_un {
  u16 sun_family;
};

struct unix_address {
  int len;
  struct sockaddr_un name[1];
};

struct unix_sock {
  struct unix_address *addr;
  struct sock *peer;
};

struct pt_regs___x86_64 {
  unsigned long r8, r9, r10, dx, si, di, orig_ax;
};

struct pt_regs___aarch64 {
  u64 regs[31];
  u64 orig_x0;
  int syscallno;
};

#pragma clang attribute pop

// What the loader finds out about a member: its offset in bytes, and whether
// there is one (linux/bpf.h).
#define OFFSET(member) __builtin_preserve_field_info(member, 0)
#define EXISTS(member) __builtin_preserve_field_info(member, 2)

// Reads a member of a structure that the kernel gives no typed pointer to; 0 if
// that fails.
#define READ(member)                                                           \
  ({                                                                           \
    __typeof__(member) value = 0;                                              \
    read_kernel(&value, sizeof value, &member);                                \
    value;                                                                     \
  })

// ---- Steps.

// The thread that runs, and its process in the upper half; 0 if the thread is
// in another PID namespace.
INLINE u64 own_numbers(void) {
  u64 numbers = 0;
  if (namespace_inode == 0)
    return host_numbers();
  // struct bpf_pidns_info: the thread, the process (linux/bpf.h).
  if (numbers_within(namespace_device, namespace_inode, &numbers,
                     sizeof numbers) != 0)
    return 0;
  return numbers;
}

INLINE int is_recorded(u64 numbers) {
  u32 process = numbers >> 32;
  return look_up(&processes, &process) != NULL;
}

// The place in an array of a number's lower half. There always is one, but the
// verifier wants to see a check.
INLINE void *place(void *array, u64 number) {
  u32 key = number & 0xffff;
  return look_up(array, &key);
}

INLINE u8 class_of(u32 number) {
  u8 *class = look_up(&classes, &number);
  return class ? *class : 0;
}

// Room for an event, or one event more that is lost.
INLINE void *room(u64 size) {
  void *event = reserve(&events, size, 0);
  if (!event) {
    u64 *count = place(&lost, 0);
    if (count)
      __sync_fetch_and_add(count, 1);
  }
  return event;
}

// The number of a new process, as the process that makes it knows it; 0 if it
// is not known.
INLINE u32 number_of(struct task_struct *task) {
  if (namespace_inode == 0)
    return task->tgid;
  struct pid *pid = task->signal->pids[1];
  // How deep the PID namespace of the maker is.
  u32 level = current_task()->thread_pid->level;
  u32 number = 0;
  read_kernel(&number, sizeof number,
              (u8 *)&pid->numbers + level * sizeof(struct upid));
  return number;
}

// What else goes with a message: the kind of the first control message and 1,
// if that is one of sockets.
INLINE u32 control_of(const void *header_address) {
  // struct msghdr and struct cmsghdr of 64-bit programs (socket(2)).
  struct {
    u64 name, name_size, parts, parts_count, control, control_size, flags;
  } header;
  struct {
    u64 size;
    u32 level, kind;
  } control;
  enum { SOL_SOCKET = 1 };
  if (read_user(&header, sizeof header, header_address) != 0 ||
      header.control_size < sizeof control)
    return 0;
  if (read_user(&control, sizeof control, (void *)header.control) != 0 ||
      control.level != SOL_SOCKET)
    return 0;
  return control.kind + 1;
}

// The hash FNV-1a of a name of this length, as datagrams.rs has it; that of a
// path ends before its zero.
INLINE u64 hash_of(const u8 *name, u32 length) {
  u64 hash = 0xcbf29ce484222325;
  for (u32 at = 0; at < 108; at++) {
    if (at >= length || (name[at] == 0 && name[0] != 0))
      break;
    hash = (hash ^ name[at]) * 0x100000001b3;
  }
  return hash;
}

// An address as sockets have it: its family, and a name or a port.
struct named {
  u16 family;
  u8 name[108];
};

enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, SHORTEST = 4 };

// An address of this length as one number: a port of IP, or what stands for the
// name of a UNIX socket; 0 if it is none.
INLINE u64 number_of_address(const struct named *named, u32 length) {
  if (named->family == AF_INET || named->family == AF_INET6)
    return named->name[0] << 8 | named->name[1];
  // No port is as large.
  return named->family == AF_UNIX
             ? hash_of(named->name, length - 2) | 1ull << 32
             : 0;
}

// The address to which a datagram goes, or from which it came.
INLINE u64 address_of(const void *address, u32 length) {
  struct named named = {};
  if (!address || length < SHORTEST)
    return 0;
  u32 size = length < sizeof named ? length : sizeof named;
  if (read_user(&named, size, address) != 0)
    return 0;
  return number_of_address(&named, size);
}

// Kinds of inodes (inode(7)).
enum { KIND = 0170000, SOCKETS = 0140000, PIPES = 0010000 };

struct object {
  u64 id;
  struct file *file;
  u32 mode;
};

// Mode, number and file system of an inode, by one call where these members lie
// close together. They do, unless the kernel was built with structures in
// random order.
INLINE void read_inode(struct inode *inode, u64 *mode, u64 *number,
                       u64 *system) {
  u32 mode_at = OFFSET(inode->i_mode), number_at = OFFSET(inode->i_ino),
      system_at = OFFSET(inode->i_sb);
  u32 low = mode_at < number_at ? mode_at : number_at,
      high = mode_at < number_at ? number_at : mode_at;
  u32 first = low < system_at ? low : system_at;
  u32 size = (high < system_at ? system_at : high) + 8 - first;
  u8 members[96];
  if (size <= sizeof members) {
    read_kernel(members, size, (u8 *)inode + first);
    *mode = *(u16 *)(members + (mode_at - first));
    *number = *(u64 *)(members + (number_at - first));
    *system = *(u64 *)(members + (system_at - first));
  } else {
    *mode = READ(inode->i_mode);
    *number = READ(inode->i_ino);
    *system = (u64)READ(inode->i_sb);
  }
}

// The object that a descriptor stands for. Sockets and pipes are known by
// inode, everything else by what the kernel keeps for it, since many such
// objects share an inode; both together with the file system, since each
// numbers its own.
INLINE int find_object(u32 descriptor, struct object *found) {
  // The kernel knows the types up to the array, so that they are read without a
  // call.
  struct files_struct *files = current_task()->files;
  if (!files)
    return 0;
  struct fdtable *table = files->fdt;
  if (!table || descriptor >= table->max_fds)
    return 0;
  struct file *file = READ(table->fd[descriptor]);
  if (!file)
    return 0;
  struct inode *inode = READ(file->f_inode);
  if (!inode)
    return 0;
  u64 mode, number, system;
  read_inode(inode, &mode, &number, &system);
  u32 kind = mode & KIND;
  if (kind != SOCKETS && kind != PIPES) {
    u64 kept = (u64)READ(file->private_data);
    number = kept ? kept : number;
  }
  // A file system gives numbers of inodes again, to files of other kinds as
  // well.
  found->id = system ? number ^ system << 20 ^ mode << 40 : number;
  found->file = file;
  found->mode = mode;
  return 1;
}

// The address of a UNIX socket: its own, or for one that connected that of its
// peer, since nobody gave it one. An accepted socket has the address of its
// listener.
INLINE void read_unix(struct object_event *event, struct unix_sock *socket) {
  event->peer = (u64)READ(socket->peer);
  struct unix_sock *other = (void *)event->peer;
  struct unix_address *theirs = other ? READ(other->addr) : NULL;
  u32 length = theirs ? READ(theirs->len) : 0;
  struct named named = {};
  if (length >= SHORTEST && length <= sizeof named &&
      read_kernel(&named, length, &theirs->name) == 0)
    event->peer_address = number_of_address(&named, length);
  struct unix_address *address = READ(socket->addr);
  if (!address) {
    address = theirs;
    event->has_peers_name = address != NULL;
  }
  if (address) {
    event->name_size = READ(address->len);
    read_kernel(event->name, sizeof event->name, &address->name);
  }
}

// What is to be told of a socket. Returns what is 0 as long as the socket has
// no peer yet that it may get.
INLINE u64 read_socket(struct object_event *event, struct file *file,
                       u8 class) {
  struct socket *socket = READ(file->private_data);
  struct sock *sock = socket ? READ(socket->sk) : NULL;
  if (!sock)
    return 0;
  event->own = (u64)sock;
  event->family = READ(sock->__sk_common.skc_family);
  event->state = READ(sock->__sk_common.skc_state);
  event->sort = READ(sock->sk_type);
  enum { SOCK_DGRAM = 2 };
  u64 peer;
  if (event->family == AF_UNIX) {
    read_unix(event, (struct unix_sock *)sock);
    peer = event->peer;
  } else {
    event->addresses = READ(sock->__sk_common.skc_addrpair);
    event->ports = READ(sock->__sk_common.skc_portpair);
    peer = event->ports & 0xffff;
  }
  // Sockets of datagrams need no peer: they have none yet when they move data,
  // or never.
  return event->sort == SOCK_DGRAM && class & DATA ? 1 : peer;
}

// Tells of an object, unless all that is to be known of it was told.
INLINE void introduce(const struct object *object, u8 class) {
  u64 id = object->id;
  u64 *latest = place(&recent, id);
  if (!latest || *latest == id)
    return;
  u64 *is_settled = look_up(&known, &id);
  if (is_settled && *is_settled) {
    *latest = id;
    return;
  }
  struct object_event *event = room(sizeof *event);
  if (!event)
    return;
  __builtin_memset(event, 0, sizeof *event);
  event->kind = OBJECT;
  event->mode = object->mode;
  event->id = id;
  u64 settled = 1;
  if ((object->mode & KIND) == SOCKETS) {
    settled = read_socket(event, object->file, class);
  } else {
    struct dentry *entry = READ(object->file->f_path.dentry);
    const u8 *name = entry ? READ(entry->d_name.name) : NULL;
    if (name)
      read_text(event->name, 64, name);
  }
  submit(event, UNANNOUNCED);
  update(&known, &id, &settled, 0);
}

INLINE void tell_program(u32 process) {
  struct program_event *event = room(sizeof *event);
  if (!event)
    return;
  event->kind = PROGRAM;
  event->process = process;
  task_name(event->name, sizeof event->name);
  submit(event, UNANNOUNCED);
}

// Where the registers of a call that returns have its number and its arguments
// (asm/ptrace.h).
INLINE u32 read_call(void *registers, u64 arguments[6]) {
  struct pt_regs___x86_64 *x86_64 = registers;
  if (EXISTS(x86_64->orig_ax)) {
    arguments[0] = x86_64->di;
    arguments[1] = x86_64->si;
    arguments[2] = x86_64->dx;
    arguments[3] = x86_64->r10;
    arguments[4] = x86_64->r8;
    arguments[5] = x86_64->r9;
    return x86_64->orig_ax;
  }
  struct pt_regs___aarch64 *aarch64 = registers;
  arguments[0] = aarch64->orig_x0;
  arguments[1] = aarch64->regs[1];
  arguments[2] = aarch64->regs[2];
  arguments[3] = aarch64->regs[3];
  arguments[4] = aarch64->regs[4];
  arguments[5] = aarch64->regs[5];
  return aarch64->syscallno;
}

// Whether the call that this thread is in has the numbers of 32-bit programs:
// TS_COMPAT of x86-64, also of `int 0x80`, and TIF_32BIT of aarch64
// (asm/thread_info.h).
INLINE int is_foreign(void) {
  struct task_struct *task = current_task();
  if (EXISTS(task->thread_info.status))
    return (task->thread_info.status & 2) != 0;
  return (task->thread_info.flags & (1 << 22)) != 0;
}

// The address that a call names: its fifth argument, whose length is the sixth
// one or stands where that one says; or the first two members of its header.
INLINE u64 named_address(u8 class, const u64 arguments[6]) {
  struct {
    void *address;
    u32 length;
  } named = {(void *)arguments[4], arguments[5]};
  if (class & MESSAGE) {
    if (read_user(&named, 12, (void *)arguments[1]) != 0)
      return 0;
  } else if (class & RECEIVES && named.address) {
    if (read_user(&named.length, 4, (void *)arguments[5]) != 0)
      return 0;
  }
  return address_of(named.address, named.length);
}

// ---- Programs, by the names of their tracepoints. The context has the
// arguments of these.

// A call is entered: when. Context: the registers, the number of the call.
SEC("tp_btf/sys_enter") int sys_enter(u64 *context) {
  u64 own = own_numbers();
  u64 number = context[1];
  if (!is_recorded(own))
    return 0;
  int foreign = is_foreign();
  if (!foreign && (number >= CALLS || !class_of(number)))
    return 0;
  u64 at = now_ns();
  struct entry *entry = place(&entries, own);
  if (entry) {
    entry->numbers = own;
    entry->at = at;
    entry->is_foreign = foreign;
  }
  return 0;
}

// A call returns: the call, and the object of its descriptor if that is new.
// Context: the registers, the result.
SEC("tp_btf/sys_exit") int sys_exit(u64 *context) {
  u64 own = own_numbers();
  struct entry *entry = own ? place(&entries, own) : NULL;
  if (!entry)
    return 0;
  // Who was recorded at the entry still is.
  u64 begun = 0;
  u64 foreign = is_foreign();
  // A call that begins a program of the other size returns with the number that
  // execve has there.
  int has_changed = 0;
  if (entry->numbers == own) {
    begun = entry->at;
    has_changed = entry->is_foreign != foreign;
    entry->numbers = 0;
  } else if (!is_recorded(own)) {
    return 0;
  }
  u64 ended = now_ns();
  u64 arguments[6];
  u32 number = read_call((void *)context[0], arguments);
  u8 class = number < CALLS ? class_of(number) : 0;
  // Its number is that of another call here, and its arguments mean nothing.
  if (foreign || has_changed) {
    int executes = has_changed || number == FOREIGN_EXECVE;
    class = executes ? RECORDED | EXECUTES : RECORDED;
    number = FOREIGN;
  }
  // What a call is about is told before it.
  struct object object = {};
  if (class & DESCRIPTOR && find_object(arguments[0], &object))
    introduce(&object, class);
  struct call_event *event = class ? room(sizeof *event) : NULL;
  if (!event)
    return 0;
  event->kind = CALL;
  event->number = number;
  event->thread = own;
  event->process = own >> 32;
  event->begun = begun;
  event->ended = ended;
  event->result = context[1];
  event->arguments[0] = arguments[0];
  event->arguments[1] = arguments[1];
  event->arguments[2] = arguments[2];
  event->arguments[3] = arguments[3];
  event->control = class & HEADER ? control_of((void *)arguments[1]) : 0;
  event->address = class & ADDRESS ? named_address(class, arguments) : 0;
  event->object = object.id;
  submit(event, UNANNOUNCED);
  if (class & EXECUTES)
    tell_program(own >> 32);
  return 0;
}

// A process that a recorded one makes is recorded before it runs. Context: the
// parent, the child.
SEC("tp_btf/sched_process_fork") int sched_process_fork(u64 *context) {
  u64 own = own_numbers();
  if (!is_recorded(own))
    return 0;
  u32 child = number_of((struct task_struct *)context[1]);
  if (!child)
    return 0;
  update(&processes, &child, &child, 0);
  struct fork_event *event = room(sizeof *event);
  if (!event)
    return 0;
  event->kind = FORK;
  event->parent = own >> 32;
  event->child = child;
  submit(event, UNANNOUNCED);
  return 0;
}

// A task ends. With the last one of a process its number is free, and soon
// another process may have it. Context: the task.
SEC("tp_btf/sched_process_exit") int sched_process_exit(u64 *context) {
  u64 own = own_numbers();
  struct entry *entry = own ? place(&entries, own) : NULL;
  if (!entry)
    return 0;
  // A call that it did not return from is not that of another thread which gets
  // its number.
  if (entry->numbers == own)
    entry->numbers = 0;
  if (!is_recorded(own))
    return 0;
  struct task_struct *task = (struct task_struct *)context[0];
  u32 process = own >> 32;
  if (task->signal->live.counter == 0)
    delete (&processes, &process);
  return 0;
}
