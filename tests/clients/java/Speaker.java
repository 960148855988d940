// The Java client on a leash: reads one JSON request per line, answers with one JSON line.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Speaker {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Duration TIMEOUT = Duration.ofSeconds(30);

    final String bootstrap;
    final Admin admin;
    final Consumer<byte[], byte[]> consumer;

    Speaker(String bootstrap) {
        this.bootstrap = bootstrap;
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        consumer = new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers", bootstrap,
                "enable.auto.commit", false,
                "auto.offset.reset", "none",
                "max.partition.fetch.bytes", 20_000_000),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) throws Exception {
        Speaker speaker = new Speaker(arguments[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> answer = new HashMap<>();
            try {
                answer.put("result", speaker.answer(JSON.readTree(line)));
            } catch (ExecutionException failure) {
                answer.put("error", failure.getCause().toString());
            } catch (Exception failure) {
                answer.put("error", failure.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        speaker.consumer.close();
        speaker.admin.close();
    }

    Object answer(JsonNode request) throws Exception {
        return switch (request.get("do").asText()) {
            case "produce" -> produce(request);
            case "position" -> position(request);
            case "read" -> read(request.get("count").asInt());
            case "bounds" -> bounds(request);
            case "offsetForTime" -> offsetForTime(request);
            case "createTopic" -> createTopic(request);
            case "deleteTopic" -> admin.deleteTopics(List.of(topic(request))).all().get();
            case "createPartitions" -> createPartitions(request);
            case "partitions" -> partitions(request);
            case "config" -> config(request);
            case "setConfig" -> setConfig(request);
            case "deleteRecords" -> deleteRecords(request);
            case "listOffsets" -> listOffsets(request);
            case "logDirs" -> logDirs(request);
            case "cluster" -> cluster();
            case "producerStates" -> producerStates(request);
            default -> throw new IllegalArgumentException("unknown request: " + request);
        };
    }

    static String topic(JsonNode request) {
        return request.get("topic").asText();
    }

    static TopicPartition place(JsonNode request) {
        return new TopicPartition(topic(request), request.get("partition").asInt());
    }

    static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    Object produce(JsonNode request) throws Exception {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap,
            "compression.type", request.get("codec").asText(),
            "acks", request.get("acks").asText(),
            "enable.idempotence", request.get("idempotent").asBoolean(),
            "linger.ms", 5,
            "buffer.memory", 64_000_000,
            "max.request.size", 20_000_000);
        List<Future<RecordMetadata>> pending = new ArrayList<>();
        List<Long> offsets = new ArrayList<>();
        try (Producer<byte[], byte[]> producer = new KafkaProducer<>(
                settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (JsonNode message : request.get("messages")) {
                JsonNode timestamp = message.get("timestamp");
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                    topic(request),
                    request.get("partition").asInt(),
                    timestamp.isNull() ? null : timestamp.asLong(),
                    bytes(message.get("key")),
                    bytes(message.get("value")));
                for (JsonNode header : message.get("headers")) {
                    record.headers().add(header.get(0).asText(), bytes(header.get(1)));
                }
                pending.add(producer.send(record));
            }
            producer.flush();
        }
        for (Future<RecordMetadata> sent : pending) offsets.add(sent.get().offset());
        return offsets;
    }

    Object position(JsonNode request) {
        TopicPartition place = place(request);
        consumer.assign(List.of(place));
        switch (request.get("start").asText()) {
            case "beginning" -> consumer.seekToBeginning(List.of(place));
            case "end" -> consumer.seekToEnd(List.of(place));
            default -> consumer.seek(place, request.get("start").asLong());
        }
        return consumer.position(place, TIMEOUT);
    }

    Object read(int count) {
        List<Object> found = new ArrayList<>();
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (found.size() < count) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("only " + found.size() + " records came");
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                if (found.size() == count) break;
                List<Object> headers = new ArrayList<>();
                for (Header header : record.headers()) {
                    headers.add(Arrays.asList(header.key(), text(header.value())));
                }
                Map<String, Object> one = new HashMap<>();
                one.put("offset", record.offset());
                one.put("timestamp", record.timestamp());
                one.put("key", text(record.key()));
                one.put("value", text(record.value()));
                one.put("headers", headers);
                found.add(one);
            }
        }
        return found;
    }

    Object bounds(JsonNode request) {
        TopicPartition place = place(request);
        return List.of(
            consumer.beginningOffsets(List.of(place), TIMEOUT).get(place),
            consumer.endOffsets(List.of(place), TIMEOUT).get(place));
    }

    Object offsetForTime(JsonNode request) {
        TopicPartition place = place(request);
        OffsetAndTimestamp found = consumer
            .offsetsForTimes(Map.of(place, request.get("timestamp").asLong()), TIMEOUT)
            .get(place);
        return found == null ? null : found.offset();
    }

    Object createTopic(JsonNode request) throws Exception {
        Map<String, String> configs = new HashMap<>();
        request.get("configs").fields().forEachRemaining(
            entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        NewTopic made = new NewTopic(topic(request), request.get("partitions").asInt(), (short) 1);
        CreateTopicsResult result = admin.createTopics(List.of(made.configs(configs)));
        result.all().get();
        return result.topicId(topic(request)).get().toString();
    }

    Object createPartitions(JsonNode request) throws Exception {
        NewPartitions more = NewPartitions.increaseTo(request.get("count").asInt());
        return admin.createPartitions(Map.of(topic(request), more)).all().get();
    }

    Object partitions(JsonNode request) throws Exception {
        List<Object> found = new ArrayList<>();
        TopicDescription described = admin
            .describeTopics(List.of(topic(request))).allTopicNames().get().get(topic(request));
        for (TopicPartitionInfo partition : described.partitions()) {
            found.add(List.of(partition.partition(), partition.leader().id(), partition.isr().size()));
        }
        return found;
    }

    Object config(JsonNode request) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic(request));
        Map<String, Object> found = new TreeMap<>();
        for (ConfigEntry entry :
                admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
            found.put(entry.name(), Arrays.asList(entry.value(), entry.source().toString()));
        }
        return found;
    }

    Object setConfig(JsonNode request) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic(request));
        ConfigEntry entry = new ConfigEntry(
            request.get("name").asText(), request.get("value").asText());
        AlterConfigOp.OpType how = AlterConfigOp.OpType.valueOf(request.get("how").asText());
        return admin.incrementalAlterConfigs(
            Map.of(resource, List.of(new AlterConfigOp(entry, how)))).all().get();
    }

    Object deleteRecords(JsonNode request) throws Exception {
        TopicPartition place = place(request);
        RecordsToDelete before = RecordsToDelete.beforeOffset(request.get("offset").asLong());
        return admin.deleteRecords(Map.of(place, before))
            .lowWatermarks().get(place).get().lowWatermark();
    }

    Object listOffsets(JsonNode request) throws Exception {
        TopicPartition place = place(request);
        OffsetSpec which = switch (request.get("which").asText()) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "max timestamp" -> OffsetSpec.maxTimestamp();
            default -> OffsetSpec.forTimestamp(request.get("which").asLong());
        };
        var found = admin.listOffsets(Map.of(place, which)).partitionResult(place).get();
        return List.of(found.offset(), found.timestamp());
    }

    Object logDirs(JsonNode request) throws Exception {
        Map<String, Object> sizes = new TreeMap<>();
        for (var directories : admin.describeLogDirs(List.of(1)).allDescriptions().get().values()) {
            for (LogDirDescription directory : directories.values()) {
                directory.replicaInfos().forEach((place, info) -> {
                    if (place.topic().equals(topic(request))) {
                        sizes.put(place.toString(), info.size());
                    }
                });
            }
        }
        return sizes;
    }

    Object cluster() throws Exception {
        DescribeClusterResult described = admin.describeCluster();
        return List.of(
            described.clusterId().get(),
            described.controller().get().id(),
            described.nodes().get().size());
    }

    Object producerStates(JsonNode request) throws Exception {
        TopicPartition place = place(request);
        List<Object> found = new ArrayList<>();
        for (ProducerState state : admin.describeProducers(List.of(place))
                .partitionResult(place).get().activeProducers()) {
            found.add(List.of(state.producerEpoch(), state.lastSequence()));
        }
        return found;
    }
}
