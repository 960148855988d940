// A group member of the Apache Java client: events as JSON lines, commands as JSON lines.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Member {
    static final ObjectMapper JSON = new ObjectMapper();
    static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";

    static final Queue<String> commands = new ConcurrentLinkedQueue<>();
    static volatile boolean isOver = false;

    static synchronized void say(String event, Object... fields) throws Exception {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        for (int at = 0; at < fields.length; at += 2) line.put((String) fields[at], fields[at + 1]);
        System.out.println(JSON.writeValueAsString(line));
    }

    static void listen() {
        try {
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) commands.add(line);
        } catch (Exception failure) {
            throw new RuntimeException(failure);
        } finally {
            isOver = true;
        }
    }

    static class Listener implements ConsumerRebalanceListener {
        final Set<TopicPartition> owned = new LinkedHashSet<>();

        void tell() {
            List<Integer> partitions = new ArrayList<>();
            SortedSet<String> topics = new TreeSet<>();
            for (TopicPartition each : owned) {
                partitions.add(each.partition());
                topics.add(each.topic());
            }
            try {
                say("assigned", "partitions", partitions, "topics", topics);
            } catch (Exception failure) {
                throw new RuntimeException(failure);
            }
        }

        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            owned.addAll(partitions);
            tell();
        }

        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            owned.removeAll(partitions);
            tell();
        }
    }

    static Map<String, Object> settings(JsonNode options) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", options.get("bootstrap").asText(),
            "client.id", options.get("client_id").asText(),
            "group.id", options.get("group").asText(),
            "max.poll.interval.ms", options.get("max_poll_ms").asInt(),
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false));
        if (options.path("protocol").asText().equals("consumer")) {
            settings.put("group.protocol", "consumer");
        } else {
            settings.put("session.timeout.ms", options.get("session_ms").asInt());
            settings.put("heartbeat.interval.ms", options.get("heartbeat_ms").asInt());
            settings.put("partition.assignment.strategy",
                ASSIGNORS + (options.get("strategy").asText().equals("range")
                    ? "RangeAssignor" : "CooperativeStickyAssignor"));
        }
        if (options.hasNonNull("instance")) {
            settings.put("group.instance.id", options.get("instance").asText());
        }
        return settings;
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode options = JSON.readTree(arguments[0]);
        Map<String, Object> settings = settings(options);
        Thread listening = new Thread(Member::listen);
        listening.setDaemon(true);
        listening.start();
        try (Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            if (options.path("held").asBoolean()) {
                say("ready");
                while (commands.poll() == null && !isOver) Thread.sleep(5);
            }
            if (options.hasNonNull("regex")) {
                consumer.subscribe(new SubscriptionPattern(options.get("regex").asText()), new Listener());
            } else {
                consumer.subscribe(List.of(options.get("topic").asText()), new Listener());
            }
            while (!isOver || !commands.isEmpty()) {
                String line = commands.poll();
                if (line != null) obey(consumer, JSON.readTree(line));
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(50))) {
                    say("record", "partition", record.partition(), "offset", record.offset());
                }
            }
        }
    }

    static void obey(Consumer<byte[], byte[]> consumer, JsonNode command) throws Exception {
        if (command.get("do").asText().equals("stall")) {
            Thread.sleep((long) (command.get("seconds").asDouble() * 1000));
        }
        try {
            consumer.commitSync();
            say("committed", "error", null);
        } catch (KafkaException failure) {
            say("committed", "error", failure.toString());
        }
    }
}
