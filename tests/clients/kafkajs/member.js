// A group member of kafkajs: events as JSON lines, commands as JSON lines.
'use strict'

const readline = require('node:readline')
const { Kafka, logLevel } = require('kafkajs')

const options = JSON.parse(process.argv[2])
const say = (event, fields) => console.log(JSON.stringify({ event, ...fields }))

const kafka = new Kafka({
  clientId: options.client_id,
  brokers: [options.bootstrap],
  logLevel: logLevel.NOTHING,
})
const consumer = kafka.consumer({
  groupId: options.group,
  sessionTimeout: options.session_ms,
  rebalanceTimeout: options.max_poll_ms,
  heartbeatInterval: options.heartbeat_ms,
  maxWaitTimeInMs: 50,
})

const next = new Map()
let stall = 0

consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  say('assigned', { partitions: payload.memberAssignment[options.topic] || [] })
})
consumer.on(consumer.events.REBALANCING, () => say('assigned', { partitions: [] }))
consumer.on(consumer.events.CRASH, ({ payload }) => say('error', { message: String(payload.error) }))

async function commit() {
  const offsets = [...next].map(([partition, offset]) => ({ topic: options.topic, partition, offset }))
  try {
    await consumer.commitOffsets(offsets)
    say('committed', { error: null })
  } catch (error) {
    say('committed', { error: `${error.type || ''} ${error.message}` })
  }
}

async function main() {
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      next.set(partition, String(Number(message.offset) + 1))
      say('record', { partition, offset: Number(message.offset) })
      if (stall) {
        const seconds = stall
        stall = 0
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
        await commit()
      }
    },
  })
}

const lines = readline.createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const command = JSON.parse(line)
  if (command.do === 'commit') commit()
  if (command.do === 'stall') stall = command.seconds
})
lines.on('close', async () => {
  await consumer.disconnect()
  process.exit(0)
})
main().catch((error) => {
  say('error', { message: String(error) })
  process.exit(1)
})
