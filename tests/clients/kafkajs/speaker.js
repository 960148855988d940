// kafkajs on a leash: reads one JSON request per line, answers with one JSON line.
'use strict'

const readline = require('node:readline')
const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = require('kafkajs')
const SnappyCodec = require('kafkajs-snappy')
const lz4 = require('lz4js')
const { ZstdCodec } = require('zstd-codec')

const zstd = new Promise((resolve) => ZstdCodec.run((module) => resolve(new module.Simple())))

// Apache Kafka refuses frames that do not promise independent blocks. lz4js never makes the
// promise, though a frame of one block keeps it; 0x73 is the checksum of the promising header.
function independentBlocks(frame) {
  frame[4] |= 0x20
  frame[6] = 0x73
  return frame
}

CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => independentBlocks(Buffer.from(lz4.compress(encoder.buffer))),
  decompress: async (buffer) => Buffer.from(lz4.decompress(buffer)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from((await zstd).decompress(buffer)),
})

const compressions = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

const kafka = new Kafka({
  clientId: 'kafkajs-trial',
  brokers: [process.argv[2]],
  logLevel: logLevel.NOTHING,
  retry: { retries: 3 },
})
const admin = kafka.admin()

const bytes = (text) => (text === null ? null : Buffer.from(text, 'base64'))

// kafkajs takes headers as an object: a repeated key is an array of values.
function headersOf(pairs) {
  const headers = {}
  for (const [key, value] of pairs) {
    if (key in headers) headers[key] = [].concat(headers[key], bytes(value))
    else headers[key] = bytes(value)
  }
  return headers
}

async function produce({ topic, partition, messages, codec, acks, idempotent }) {
  const producer = kafka.producer({ idempotent, maxInFlightRequests: idempotent ? 1 : undefined })
  await producer.connect()
  try {
    return await producer.send({
      topic,
      acks,
      compression: compressions[codec],
      messages: messages.map(({ key, value, headers, timestamp }) => ({
        partition,
        key: bytes(key),
        value: bytes(value),
        headers: headersOf(headers),
        timestamp: timestamp === null ? undefined : String(timestamp),
      })),
    })
  } finally {
    await producer.disconnect()
  }
}

const topicResource = (topic, rest) => ({ type: ConfigResourceTypes.TOPIC, name: topic, ...rest })

const actions = {
  produce,
  listTopics: () => admin.listTopics(),
  createTopic: ({ topic, partitions, configs }) =>
    admin.createTopics({
      waitForLeaders: true,
      topics: [{ topic, numPartitions: partitions, configEntries: configs }],
    }),
  deleteTopic: ({ topic }) => admin.deleteTopics({ topics: [topic] }),
  createPartitions: ({ topic, count }) =>
    admin.createPartitions({ topicPartitions: [{ topic, count }] }),
  topicMetadata: ({ topic }) => admin.fetchTopicMetadata({ topics: [topic] }),
  topicOffsets: ({ topic }) => admin.fetchTopicOffsets(topic),
  offsetsByTime: ({ topic, timestamp }) => admin.fetchTopicOffsetsByTimestamp(topic, timestamp),
  deleteRecords: ({ topic, partition, offset }) =>
    admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] }),
  describeConfigs: ({ topic, names }) =>
    admin.describeConfigs({ includeSynonyms: true, resources: [topicResource(topic, { configNames: names })] }),
  alterConfigs: ({ topic, configs }) =>
    admin.alterConfigs({ validateOnly: false, resources: [topicResource(topic, { configEntries: configs })] }),
  describeCluster: () => admin.describeCluster(),
}

async function main() {
  let connected = null
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    let answer
    try {
      connected = connected || admin.connect()
      await connected
      answer = { result: (await actions[request.do](request)) ?? null }
    } catch (error) {
      answer = { error: String(error) }
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
  await admin.disconnect()
}

main()
