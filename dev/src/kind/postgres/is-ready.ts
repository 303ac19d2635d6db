import { connect } from 'node:net'
import { parseArgs } from 'node:util'

/** `pg_isready` of the stand-in: 0 accepts, 1 refuses (it is starting), 2 does not answer. */
const { values } = parseArgs({
  allowPositionals: true,
  options: {
    host: { type: 'string', short: 'h' },
    port: { type: 'string', short: 'p', default: '5432' },
    username: { type: 'string', short: 'U', default: 'postgres' },
    dbname: { type: 'string', short: 'd', default: 'postgres' },
    timeout: { type: 'string', short: 't', default: '3' },
    quiet: { type: 'boolean', short: 'q' },
  },
})

/** A start-up message of protocol 3.0; the server answers R when it asks for a password, E when it cannot serve. */
function startup(user: string, database: string): Buffer {
  const text = Buffer.from(`user\0${user}\0database\0${database}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(8 + text.length, 0)
  head.writeInt32BE(196_608, 4)
  return Buffer.concat([head, text])
}

const CANNOT_CONNECT_NOW = '57P03'
const finish = (code: number): never => process.exit(code)
const socket = connect(Number(values.port), values.host ?? '127.0.0.1', () =>
  socket.write(startup(values.username, values.dbname)),
)
socket.setTimeout(Number(values.timeout) * 1_000, () => finish(2))
socket.on('error', () => finish(2))
socket.on('close', () => finish(2))
socket.on('data', (answer) => finish(answer.toString('latin1').includes(CANNOT_CONNECT_NOW) ? 1 : 0))
