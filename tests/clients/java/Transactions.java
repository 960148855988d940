// Two transactional producers of the Apache client: commits, aborts, offsets, and a zombie.
// Arguments: bootstrap address, topic with two partitions, transactional id.

import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

public class Transactions {
    static KafkaProducer<String, String> producer(String bootstrap, String id) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", id);
        settings.put("linger.ms", "0");
        KafkaProducer<String, String> made =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        made.initTransactions();
        return made;
    }

    static void send(KafkaProducer<String, String> producer, String topic, int partition, String value)
            throws Exception {
        producer.send(new ProducerRecord<>(topic, partition, null, value)).get();
    }

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], topic = arguments[1], id = arguments[2];
        KafkaProducer<String, String> zombie = producer(bootstrap, id);
        zombie.beginTransaction();
        send(zombie, topic, 0, "one");
        send(zombie, topic, 1, "two");
        zombie.commitTransaction();
        System.out.println("committed");
        zombie.beginTransaction();
        send(zombie, topic, 0, "aborted");
        zombie.abortTransaction();
        System.out.println("aborted");
        zombie.beginTransaction();
        send(zombie, topic, 0, "three");
        zombie.commitTransaction();
        System.out.println("committed");
        zombie.beginTransaction();
        send(zombie, topic, 1, "four");
        zombie.sendOffsetsToTransaction(
            Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(5)),
            new ConsumerGroupMetadata("group-of-" + id));
        zombie.commitTransaction();
        System.out.println("offsets committed");
        zombie.beginTransaction();
        send(zombie, topic, 0, "zombie");
        KafkaProducer<String, String> heir = producer(bootstrap, id);
        heir.beginTransaction();
        send(heir, topic, 0, "heir");
        heir.commitTransaction();
        System.out.println("heir committed");
        try {
            send(zombie, topic, 1, "late");
            zombie.commitTransaction();
            System.out.println("zombie committed");
        } catch (KafkaException | java.util.concurrent.ExecutionException refused) {
            System.out.println("zombie refused");
        }
        heir.close();
        zombie.close(java.time.Duration.ofSeconds(1));
    }
}
