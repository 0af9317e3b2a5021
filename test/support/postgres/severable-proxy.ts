// A TCP proxy between a client and a PostgreSQL server, for tests of connections that break. It knows where a request ends and where its
// answer ends: so a test can break a connection before the server has a request, or after the server has committed it.
// Its test is test/processes/postgres/severable-proxy.test.ts.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { MessageReader, type WireMessage } from './wire.ts'

export interface CutOptions {
  /** which request is meant, by its bytes as latin1; by default the next one */
  readonly matching?: (request: string) => boolean
  /** refuses new connections from then on, until `resume` */
  readonly thenRefuse?: boolean
}

interface PlannedCut extends CutOptions {
  readonly place: 'before' | 'after'
  readonly done: PromiseWithResolvers<void>
}

export class SeverableProxy implements AsyncDisposable {
  readonly #server = createServer((client) => this.#accept(client))
  #targetPort: number
  readonly #links = new Set<Link>()
  readonly #planned: PlannedCut[] = []
  #isRefusing = false
  #isStalled = false

  private constructor(targetPort: number) {
    this.#targetPort = targetPort
  }

  static async start(target: { readonly port: number }): Promise<SeverableProxy> {
    const proxy = new SeverableProxy(target.port)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The number of connections that are open now. */
  get connections(): number {
    return this.#links.size
  }

  /** Returns the URL of the same database through this proxy. */
  redirect(url: string): string {
    return Object.assign(new URL(url), { port: String(this.port) }).href
  }

  /** Connects to another server from now on, as the address of a database does after a failover. Present connections stay. */
  retarget(target: { readonly port: number }): void {
    this.#targetPort = target.port
  }

  /** Breaks all connections, and refuses new ones until `resume`. */
  cut(): void {
    this.#isRefusing = true
    for (const link of this.#links) link.sever()
  }

  /** Breaks the connection when it sends the meant request, which the server does not get. Resolves when that is done. */
  cutBeforeRequest(options: CutOptions = {}): Promise<void> {
    return this.#plan('before', options)
  }

  /** Passes the meant request to the server, and breaks the connection when the server has answered. Resolves when that is done. */
  cutAfterRequest(options: CutOptions = {}): Promise<void> {
    return this.#plan('after', options)
  }

  /** Keeps all connections open, but passes nothing on until `resume`. */
  stall(): void {
    this.#isStalled = true
    for (const link of this.#links) link.stall()
  }

  /** Passes everything on again, and accepts new connections. */
  resume(): void {
    this.#isRefusing = false
    this.#isStalled = false
    for (const link of this.#links) link.resume()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#links) link.sever()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #plan(place: PlannedCut['place'], options: CutOptions): Promise<void> {
    const done = Promise.withResolvers<void>()
    this.#planned.push({ ...options, place, done })
    return done.promise
  }

  #accept(client: Socket): void {
    if (this.#isRefusing) {
      client.resetAndDestroy()
      return
    }
    const link = new Link(client, connect({ host: '127.0.0.1', port: this.#targetPort }), {
      takeCut: (request) => this.#takeCut(request),
      onCut: (cut) => {
        if (cut.thenRefuse === true) this.#isRefusing = true
        cut.done.resolve()
      },
      onEnd: () => this.#links.delete(link),
    })
    this.#links.add(link)
    if (this.#isStalled) link.stall()
  }

  #takeCut(request: string): PlannedCut | null {
    const index = this.#planned.findIndex(({ matching }) => matching?.(request) ?? true)
    return index < 0 ? null : (this.#planned.splice(index, 1)[0] ?? null)
  }
}

interface LinkOwner {
  takeCut(request: string): PlannedCut | null
  onCut(cut: PlannedCut): void
  onEnd(): void
}

/** One connection of a client, with its connection to the server. */
class Link {
  readonly #client: Socket
  readonly #server: Socket
  readonly #owner: LinkOwner
  /** the messages of a request that is not complete */
  #request: Buffer[] = []
  /** the number of answers that the server still owes */
  #owedAnswers = 0
  #cut: PlannedCut | null = null

  constructor(client: Socket, server: Socket, owner: LinkOwner) {
    this.#client = client
    this.#server = server
    this.#owner = owner
    const readers = { client: new MessageReader('client'), server: new MessageReader('server') }
    client.on('data', (bytes) => {
      for (const message of readers.client.read(bytes)) this.#fromClient(message)
    })
    server.on('data', (bytes) => {
      for (const message of readers.server.read(bytes)) this.#fromServer(message)
    })
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.setNoDelay(true)
      // A broken connection is what these tests are about: 'close' follows.
      socket.on('error', () => undefined)
      socket.on('end', () => other.end())
      socket.on('close', () => this.sever())
    }
  }

  stall(): void {
    this.#client.pause()
    this.#server.pause()
  }

  resume(): void {
    this.#client.resume()
    this.#server.resume()
  }

  sever(): void {
    this.#client.destroy()
    this.#server.destroy()
    this.#owner.onEnd()
  }

  #fromClient({ type, bytes }: WireMessage): void {
    if (this.#cut !== null) return
    this.#request.push(bytes)
    // A request ends with a query as text, or with `Sync`. The server also answers the start of a session.
    const isRequest = type === 'Q' || type === 'S'
    const isPart = ['P', 'B', 'D', 'E', 'C'].includes(type)
    if (isPart) return
    if (isRequest) this.#cut = this.#owner.takeCut(Buffer.concat(this.#request).toString('latin1'))
    if (this.#cut?.place === 'before') {
      this.#perform(this.#cut)
      return
    }
    if (isRequest || type === '') this.#owedAnswers += 1
    for (const part of this.#request) this.#server.write(part)
    this.#request = []
  }

  #fromServer({ type, bytes }: WireMessage): void {
    // The last answer that is owed belongs to the request that is meant.
    const isMeant = this.#cut !== null && this.#owedAnswers === 1
    if (!isMeant) this.#client.write(bytes)
    if (type !== 'Z') return
    this.#owedAnswers -= 1
    if (isMeant && this.#cut !== null) this.#perform(this.#cut)
  }

  #perform(cut: PlannedCut): void {
    this.sever()
    this.#owner.onCut(cut)
  }
}
