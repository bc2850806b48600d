import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/** What all programs have alike: BROKER APPLICATION SOURCE SINK STATE_DIR, two threads; exactly once with a commit every 100 ms, unless
 * -Dguarantee, -Dcommit and -Dlinger say otherwise. */
final class Running {
    static void start(StreamsBuilder builder, String[] args) {
        KafkaStreams streams = new KafkaStreams(builder.build(), settings(args));
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
    }

    private static Properties settings(String[] args) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[4]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, System.getProperty("guarantee", StreamsConfig.EXACTLY_ONCE_V2));
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, Integer.getInteger("commit", 100));
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        // A cache would leave out results: every record has one of its own.
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 5000);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "lz4");
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 * 1024);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), Integer.getInteger("linger", 5));
        return settings;
    }
}
