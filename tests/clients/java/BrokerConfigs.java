// Prints every broker property that Kafka knows, one tab-separated line for each:
// name, type, update mode, whether it is internal, default ("-" stands for null, "=" precedes the rest).

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;

public class BrokerConfigs {
    public static void main(String[] arguments) {
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        for (ConfigDef.ConfigKey key : AbstractKafkaConfig.CONFIG_DEF.configKeys().values()) {
            Object value = key.hasDefault() ? key.defaultValue : null;
            String text = value == null ? "-" : "=" + ConfigDef.convertToString(value, key.type);
            System.out.println(String.join("\t",
                key.name,
                key.type.name(),
                modes.getOrDefault(key.name, "read-only"),
                String.valueOf(key.internalConfig),
                text));
        }
    }
}
