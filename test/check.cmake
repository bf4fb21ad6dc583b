# unit/<box>/<folder>/<module>_test.c: one Check program per module, table-driven, each a ctest of label
# "unit". The folders are those of the code under test.
file(GLOB support_sources CONFIGURE_DEPENDS support/*.c)
add_library(ek_test_support STATIC ${support_sources})
target_link_libraries(ek_test_support PUBLIC ek_controller ek_apiserver ek_registry PkgConfig::CHECK)
if(EK_LLD)
  target_link_options(ek_test_support PUBLIC -fuse-ld=lld)
endif()
target_compile_definitions(ek_test_support PUBLIC
  EK_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data" EK_SHARED_DATA="${EK_RECORDED}")

file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS unit/*_test.c)
# Check's own macros trip the strict format and cast warnings; options of source files come last.
set_source_files_properties(${unit_tests} ${support_sources} PROPERTIES
  COMPILE_OPTIONS "-Wno-cast-qual;-Wno-format-nonliteral;-Wno-format-extra-args")
# A test that ends its process, or must find it as it was at the start, has a process of its own in each build. The
# others have that in the release build alone: to copy a process under AddressSanitizer takes far longer than a test.
set(forking api/base/arena apiserver/webhook controller/debug/socket controller/manager/manager
  controller/manager/runner)
foreach(source ${unit_tests})
  file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR}/unit ${source})
  string(REGEX REPLACE "_test\\.c$" "" path ${path})
  string(REPLACE "/" "_" name unit_${path})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ek_test_support)
  add_test(NAME unit/${path} COMMAND ${name})
  # Check gives each test 4 seconds, which a sanitizer on a busy machine exceeds. CTest's own limit is
  # the one that ends what hangs, and no result depends on it.
  set_tests_properties(unit/${path} PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 600
    ENVIRONMENT CK_TIMEOUT_MULTIPLIER=1000)
  if(EK_SANITIZE AND NOT path IN_LIST forking)
    set_property(TEST unit/${path} APPEND PROPERTY ENVIRONMENT CK_FORK=no)
  endif()
endforeach()

# fault/alloc_test: every operation with every one of its allocations failing in turn.
add_executable(alloc_test fault/alloc_test.c fault/alloc_rows.c)
target_link_libraries(alloc_test PRIVATE ek_test_support)
add_test(NAME fault/alloc COMMAND alloc_test)
set_tests_properties(fault/alloc PROPERTIES LABELS fault TIMEOUT 600
  ENVIRONMENT CK_TIMEOUT_MULTIPLIER=1000)
