// A separate API socket for each process with limited permissions. In the file system view of its programs, this socket is mounted over
// the daemon's socket. A connection through the socket counts as a request of that process, whatever header it sends.
// Two processes must never share a socket. Test: test/e2e/lifecycle/nested.test.ts.
import { mkdir, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { deniedToPrograms, startsPrograms } from '../../kernel/state/permissions.ts'
import type { ApiSocket } from '../../drivers/contain/containment-contract.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The number of final digits of the UUID in a socket's name: the operating system limits the length of the whole path. */
const NAME_DIGITS = 10

/** the process of each connection through one of these sockets */
const callers = new WeakMap<object, Uuid>()

/** The process whose socket the connection came through; undefined for the daemon's own socket. */
export function processOfSocket(socket: object): Uuid | undefined {
  return callers.get(socket)
}

export class ApiSockets implements AsyncDisposable {
  /** the daemon's own socket */
  readonly #mainSocket: string
  readonly #dir: string
  readonly #servers = new Map<Uuid, Server>()
  readonly #api = Promise.withResolvers<{ emit(event: 'connection', socket: Socket): boolean }>()

  constructor(socket: string) {
    this.#mainSocket = socket
    this.#dir = join(dirname(socket), 'doors')
  }

  /** Connects the API server. Calls of `open` wait for it. */
  attachApi(api: { emit(event: 'connection', socket: Socket): boolean }): void {
    this.#api.resolve(api)
  }

  /** Opens the socket of a process; undefined if the process may send any request. */
  async open({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>): Promise<ApiSocket | undefined> {
    if (deniedToPrograms(spec).length === 0) return undefined
    const api = await this.#api.promise
    this.close(uuid)
    const server = createServer((socket) => {
      callers.set(socket, uuid)
      api.emit('connection', socket)
    })
    this.#servers.set(uuid, server)
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const socket = join(this.#dir, uuid.slice(-NAME_DIGITS))
    await rm(socket, { force: true })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve))
    return { socket, over: this.#mainSocket, dir: this.#dir, isNeeded: startsPrograms(spec) }
  }

  close(uuid: Uuid): void {
    const server = this.#servers.get(uuid)
    this.#servers.delete(uuid)
    // Only refuses new connections. Open connections end by themselves.
    server?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const uuid of [...this.#servers.keys()]) this.close(uuid)
    await rm(this.#dir, { recursive: true, force: true })
  }
}
